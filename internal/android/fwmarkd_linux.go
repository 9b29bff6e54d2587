package android

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The request (system/netd/include/FwmarkCommand.h): native-endian words for
// the command, the network, a user and, from Android 9 on, traffic accounting.
const (
	selectNetwork = 2
	requestBytes  = 16
	requestBytes8 = 12 // up to Android 8.1
	patience      = 5 * time.Second
)

// noSocket stands for the descriptor of a request that carries none.
const noSocket = -1

// Select ties the socket fd to a network: netd gets the socket itself and sets
// its mark. The mark is read back, so that nil means that the socket leads to
// that network and no other; it is returned, too. The socket must not be
// connected yet.
//
// Errors are *Refusal, or wrap ErrUnreachable or ErrReply. Android's own
// client takes a netd that is not there for success; this one does not.
func (n *Fwmarkd) Select(ctx context.Context, fd int, netID uint32) (mark uint32, err error) {
	size, err := n.requestSize(ctx)
	if err != nil {
		return 0, err
	}
	errno, err := ask(ctx, n.path, fd, netID, size)
	if err != nil {
		return 0, err
	}
	if errno != 0 {
		return 0, &Refusal{NetID: netID, Errno: errno}
	}
	got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrReply, os.NewSyscallError("getsockopt SO_MARK", err))
	}
	if mark = uint32(got); mark&markNetID != netID {
		return 0, fmt.Errorf("%w: the socket's mark is %#x, not of network %d", ErrReply, mark, netID)
	}
	return mark, nil
}

// requestSize is how long a request has to be. It is found out once, by requests
// without a descriptor: the netd of Android 8 answers a request of another
// length before it takes hold of the descriptor in it, which then stays open in
// netd for ever, until the phone has no network any more
// (FwmarkServer::processClient: EBADMSG before EBADF).
func (n *Fwmarkd) requestSize(ctx context.Context) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.size != 0 {
		return n.size, nil
	}
	for _, size := range [...]int{requestBytes, requestBytes8} {
		errno, err := ask(ctx, n.path, noSocket, 0, size)
		switch {
		case err != nil:
			return 0, err
		case errno == errnoBadFD:
			n.size = size
			return size, nil
		case errno != errnoBadMsg:
			return 0, fmt.Errorf("%w: errno %d to a request without a socket", ErrReply, errno)
		}
	}
	return 0, fmt.Errorf("%w: it takes requests of another length than those of Android 8 to 15", ErrReply)
}

// ask makes one request and gives netd's answer, 0 or an errno.
func ask(ctx context.Context, path string, fd int, netID uint32, size int) (errno int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return 0, connectError(ErrUnreachable, err)
	}
	defer c.Close()                                                           //nolint:errcheck // what it had to say is known
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // fails when it is closed
	defer stop()
	request := binary.NativeEndian.AppendUint32(make([]byte, 0, requestBytes), selectNetwork)
	request = binary.NativeEndian.AppendUint32(request, netID)
	request = request[:size] // no user, no traffic accounting
	var rights []byte
	if fd != noSocket {
		rights = unix.UnixRights(fd)
	}
	if _, _, err := c.(*net.UnixConn).WriteMsgUnix(request, rights, nil); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	errno, err = readReply(c)
	if err != nil && ctx.Err() != nil { // it has not answered
		return 0, fmt.Errorf("%w: %w", ErrUnreachable, context.Cause(ctx))
	}
	return errno, err
}

// readReply reads netd's answer: a native-endian 0 or -errno.
func readReply(r io.Reader) (errno int, err error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrReply, err)
	}
	switch n := int32(binary.NativeEndian.Uint32(b[:])); {
	case n == 0:
		return 0, nil
	case n < 0 && n >= -errnoMax:
		return int(-n), nil
	default:
		return 0, fmt.Errorf("%w: %d", ErrReply, n)
	}
}

// Probe says whether this process may use a network, and which mark its
// sockets get there, by asking for a socket that it closes again. Nothing is
// sent over the network. Errors are those of Select.
func (n *Fwmarkd) Probe(ctx context.Context, netID uint32) (mark uint32, err error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return n.Select(ctx, fd, netID)
}
