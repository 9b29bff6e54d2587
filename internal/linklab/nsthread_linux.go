package linklab

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// nsThread is a thread that lives in a network namespace of its own and does
// what it is sent. Processes that it starts live there too, and get their
// parent-death signal when it ends.
type nsThread struct {
	work  chan func()
	quit  chan struct{}
	ended chan struct{}
}

// errClosed says that a lab is no more.
var errClosed = errors.New("linklab: the lab is closed")

// newNSThread makes a namespace and its thread. With ownSysfs the thread also
// sees the namespace's own devices under /sys, as `ip netns exec` arranges it.
func newNSThread(ownSysfs bool) (*nsThread, error) {
	t := &nsThread{work: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{})}
	ready := make(chan error)
	go t.run(ownSysfs, ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return t, nil
}

func (t *nsThread) run(ownSysfs bool, ready chan<- error) {
	// Never unlocked: the runtime destroys the thread with its goroutine, so
	// that no other goroutine ever finds itself in this namespace.
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		// The main thread cannot be destroyed, and /proc/self is its view.
		// While this goroutine holds it, another one gets another thread.
		go t.run(ownSysfs, ready)
		<-t.ended
		runtime.UnlockOSThread()
		return
	}
	defer close(t.ended)
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		ready <- fmt.Errorf("new network namespace: %w", err)
		return
	}
	if ownSysfs {
		if err := mountSysfs(); err != nil {
			ready <- err
			return
		}
	}
	ready <- nil
	for {
		select {
		case f := <-t.work:
			f()
		case <-t.quit:
			return
		}
	}
}

// mountSysfs gives this thread a mount namespace whose /sys shows the devices
// of the thread's network namespace.
func mountSysfs() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("new mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if err != nil && !os.IsPermission(err) {
		return fmt.Errorf("mount /sys: %w", err)
	}
	// Where a container hides parts of /sys, the kernel refuses a new one to a
	// user namespace; the old view of the devices is then better than none.
	return nil
}

// do runs f on the thread and returns what it does.
func (t *nsThread) do(f func() error) error {
	done := make(chan error, 1)
	select {
	case t.work <- func() { done <- f() }:
		return <-done
	case <-t.ended:
		return errClosed
	}
}

// space is the name of the namespace: what a process of it has as its ns/net.
func (t *nsThread) space() (name string, err error) {
	err = t.do(func() (err error) {
		name, err = os.Readlink("/proc/thread-self/ns/net")
		return err
	})
	return name, err
}

// end lets the thread go, and with it the hold on its namespace. It must be
// called once.
func (t *nsThread) end() {
	close(t.quit)
	<-t.ended
}
