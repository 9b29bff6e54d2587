package linklab

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const tunPath = "/dev/net/tun"

// tun is an open TUN device: each Read and Write moves one IP packet. The
// device vanishes when it is closed.
type tun struct {
	*os.File
}

// openTUN makes a TUN device in the calling thread's namespace.
func openTUN(name string) (*tun, error) {
	fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, tunError(err)
	}
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI | unix.IFF_TUN_EXCL)
		err = attach(fd, ifr)
	}
	if err == nil {
		// No offloads: every packet is at most the MTU, as on a real link.
		err = unix.IoctlSetInt(fd, unix.TUNSETOFFLOAD, 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("device %s: %w", name, err), unix.Close(fd))
	}
	return &tun{os.NewFile(uintptr(fd), tunPath)}, nil
}

// attach makes the device. One of the same name that was closed lives until the last
// descriptor is closed: that of a pending read, or of a child between fork and exec, which
// can take a while on a busy machine.
func attach(fd int, ifr *unix.Ifreq) error {
	const tries, between = 300, 10 * time.Millisecond
	for i := 0; ; i++ {
		err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
		if i == tries || !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(between)
	}
}

// SetCarrier switches the device's carrier, which its users are told of.
func (t *tun) SetCarrier(on bool) error {
	c, err := t.SyscallConn()
	if err != nil {
		return err
	}
	v := 0
	if on {
		v = 1
	}
	var ioctl error
	err = c.Control(func(fd uintptr) { ioctl = unix.IoctlSetPointerInt(int(fd), unix.TUNSETCARRIER, v) })
	if err = errors.Join(err, ioctl); err != nil {
		return fmt.Errorf("set carrier: %w", err)
	}
	return nil
}

// tunError says what to do about a TUN device that cannot be opened.
func tunError(err error) error {
	e := &HintError{Err: fmt.Errorf("open %s: %w", tunPath, err)}
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		e.Hint = "load the module (modprobe tun), or give a container its --device " + tunPath
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Hint = "run as root, or let everybody use it: chmod 666 " + tunPath
	}
	return e
}
