package timerfd

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Timer rings a bell.
type Timer struct {
	fd   int
	file *os.File // of fd: its reader waits in the runtime's poller
}

// New makes a timer that is not set.
func New(bell chan<- struct{}) (*Timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	t := &Timer{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
	raw, err := t.file.SyscallConn()
	if err != nil {
		t.Close()
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
	return t, nil
}

// expired takes note of it that a timer's time has come, if it has. It never waits, so that the runtime need
// not know of it: that would wake its monitor.
func expired(fd uintptr) bool {
	var times uint64
	_, _, errno := syscall.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&times)), unsafe.Sizeof(times))
	return errno == 0
}

// Set has the bell rung once after d, and at no time that was set before.
func (t *Timer) Set(d time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(max(d, 1)))} // 0 would be never
	_ = unix.TimerfdSettime(t.fd, 0, &spec, nil)                          // its arguments are valid
}

// Close ends the timer, which is not to be set any more.
func (t *Timer) Close() { _ = t.file.Close() }
