package link

import (
	"context"
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// bindSocket ties a socket to its link. By the name, not the index: an
// interface that went and came back has the same name and another index.
// network ends in the address family, "tcp4".
func bindSocket(ctx context.Context, fd uintptr, network string, info *Info) error {
	switch info.Bind {
	case BindDevice:
		name := info.Name
		if info.Android != nil && info.Android.CLAT != "" && strings.HasSuffix(network, "4") {
			name = info.Android.CLAT
		}
		if info.mark != 0 {
			if err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, int(info.mark)); err != nil {
				return os.NewSyscallError("setsockopt SO_MARK", err)
			}
		}
		return os.NewSyscallError("setsockopt SO_BINDTODEVICE", unix.BindToDevice(int(fd), name))
	case BindNetwork:
		if info.Android == nil {
			break
		}
		_, err := info.Android.netd.Select(ctx, int(fd), info.Android.NetID)
		return err
	case BindAddress:
		return nil // the dialer's local address does it
	case BindIndex, BindNone:
	}
	return errors.New("no way to bind is known")
}

// tryBind says whether this process may bind a socket to a device.
func tryBind(name string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		fd, err = unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	err = unix.BindToDevice(fd, name)
	unix.Close(fd) //nolint:errcheck // nothing was written
	return err
}
