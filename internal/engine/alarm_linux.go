package engine

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// alarm is a timer of the kernel's that rings a bell (timerfd_create(2)). One of Go's that is put off
// again and again, as bytes come, wakes the process at times from which it was put off, and the runtime's
// monitor with it: nine context switches, six times a second.
type alarm struct {
	fd   int
	file *os.File // of fd: its reader waits in the runtime's poller
}

// newAlarm makes an alarm that is not set.
func newAlarm(bell chan<- struct{}) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	a := &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	raw, err := a.file.SyscallConn()
	if err != nil {
		a.close()
		return nil, err
	}
	go func() {
		for raw.Read(expired) == nil { // until it is closed
			select {
			case bell <- struct{}{}:
			default:
			}
		}
	}()
	return a, nil
}

// expired takes note of it that the time of a timer has come, if it has. It never waits, so that the
// runtime need not know of it.
func expired(fd uintptr) bool {
	var times uint64
	_, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), unsafe.Sizeof(times))
	return errno == 0
}

// set has the bell rung after d, and at no time that was set before.
func (a *alarm) set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))} // 0 would be never
	_ = unix.TimerfdSettime(a.fd, 0, &spec, nil)                          // its arguments are valid
}

func (a *alarm) close() { _ = a.file.Close() }
