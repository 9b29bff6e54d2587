package linklab

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// TakePriority gives all threads of this process and nginx real-time priority,
// but not the threads that start processes: a real link and its server do not
// stutter when this machine has other work. Without the right to it (in a user
// namespace, or with too low an RLIMIT_RTPRIO) a lab works as well while the
// machine is idle, so that is no error. Threads that come later inherit it. It
// is for programs that do nothing but run labs.
func (l *Lab) TakePriority() error {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if id, err := strconv.Atoi(t.Name()); err == nil {
			_ = setPolicy(id, unix.SCHED_RR, 1)
		}
	}
	if l.nginx != nil {
		_ = setPolicy(l.nginx.PID(), unix.SCHED_RR, 1)
	}
	for _, t := range []*nsThread{l.client, l.serv} {
		if err := t.do(func() error { return setPolicy(0, unix.SCHED_NORMAL, 0) }); err != nil {
			return err
		}
	}
	return nil
}

// setPolicy sets the scheduling of a thread, 0 being the calling one.
func setPolicy(thread int, policy, priority uint32) error {
	return unix.SchedSetAttr(thread, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
}
