package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// snapshot is the kernel's state of interfaces and routes.
type snapshot struct {
	links []linkMsg
	addrs []addrMsg
	fib   *fib
	phone *phone // nil where this is none
}

const (
	receiveBuffer = 64 << 10 // bytes; the kernel's dumps come in at most 32 KiB
	dumpTries     = 3        // a dump that was changed under way is started over
)

var errInterrupted = errors.New("netlink dump kept changing")

// takeSnapshot dumps links, addresses, routes and rules. The socket is never
// bound: Android lets apps send but not bind.
func takeSnapshot(ctx context.Context) (*snapshot, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	// The kernel answers at once; this is for the day on which it does not.
	tv := unix.NsecToTimeval(int64(5e9))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	s, from := &snapshot{}, dumps{fd, make([]byte, receiveBuffer)}
	if s.addrs, err = dump(ctx, from, unix.RTM_GETADDR, unix.RTM_NEWADDR, parseAddr); err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	s.links, err = dump(ctx, from, unix.RTM_GETLINK, unix.RTM_NEWLINK, parseLink)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		s.links, err = linksOf(s.addrs)
	}
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	routes, err := dump(ctx, from, unix.RTM_GETROUTE, unix.RTM_NEWROUTE, parseRoute)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	rules, err := dump(ctx, from, unix.RTM_GETRULE, unix.RTM_NEWRULE, parseRule)
	if errors.Is(err, unix.EOPNOTSUPP) { // a kernel without rules goes by these
		rules, err = withoutRules(), nil
	}
	if err != nil {
		return nil, fmt.Errorf("list routing rules: %w", err)
	}
	s.fib = newFib(rules, routes, os.Getuid())
	s.fib.vrfs = vrfsOf(s.links)
	return s, nil
}

// withoutRules are the rules by which a kernel looks for routes that has none
// (no CONFIG_IP_MULTIPLE_TABLES), and one of which qemu-user tells none.
func withoutRules() []ruleMsg {
	var rules []ruleMsg
	for _, family := range [...]byte{unix.AF_INET, unix.AF_INET6} {
		for _, table := range [...]uint32{unix.RT_TABLE_LOCAL, unix.RT_TABLE_MAIN} {
			rules = append(rules, ruleMsg{
				family: family, action: unix.FR_ACT_TO_TBL, table: table, priority: uint32(len(rules)),
				uids: [2]uint32{0, 1<<32 - 1}, suppress: -1,
			})
		}
	}
	return rules
}

// dumps is a socket, and room for what is read from it.
type dumps struct {
	fd  int
	buf []byte
}

// dump asks for every object of a kind and collects what parse makes of them.
func dump[T any](ctx context.Context, from dumps, request, reply uint16, parse func([]byte) (T, bool)) ([]T, error) {
	for try := range dumpTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sequence := uint32(request)<<8 | uint32(try)
		list, err := dumpOnce(from, request, reply, sequence, parse)
		if !errors.Is(err, errInterrupted) {
			return list, err
		}
	}
	return nil, errInterrupted
}

func dumpOnce[T any](from dumps, request, reply uint16, sequence uint32, parse func([]byte) (T, bool)) ([]T, error) {
	// A header and a struct rtgenmsg, padded as struct rtmsg: older kernels
	// take the shorter form, too, but strict ones want the whole.
	out := make([]byte, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(out, uint32(len(out)))
	binary.NativeEndian.PutUint16(out[4:], request)
	binary.NativeEndian.PutUint16(out[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	binary.NativeEndian.PutUint32(out[8:], sequence)
	if err := unix.Sendto(from.fd, out, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	var (
		list        []T
		interrupted bool
	)
	for {
		n, sender, err := unix.Recvfrom(from.fd, from.buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if !fromKernel(sender) || n >= unix.SizeofNlMsghdr && binary.NativeEndian.Uint32(from.buf[8:]) != sequence {
			continue
		}
		var done bool
		list, done, err = collect(list, from.buf[:n], reply, parse, &interrupted)
		if err != nil {
			return nil, err
		}
		if done && interrupted {
			return nil, errInterrupted
		}
		if done {
			return list, nil
		}
	}
}

// collect adds the objects of one datagram to list; done: it was the last.
func collect[T any](list []T, b []byte, reply uint16, parse func([]byte) (T, bool), interrupted *bool) ([]T, bool, error) {
	for len(b) > 0 {
		m, rest, err := nextMessage(b)
		if err != nil {
			return nil, false, err
		}
		b = rest
		if m.flags&unix.NLM_F_DUMP_INTR != 0 {
			*interrupted = true
		}
		switch m.kind {
		case unix.NLMSG_DONE:
			return list, true, nil
		case unix.NLMSG_ERROR:
			return nil, false, netlinkErrno(m.body)
		case reply:
			if v, ok := parse(m.body); ok {
				list = append(list, v)
			}
		}
	}
	return list, false, nil
}

func netlinkErrno(body []byte) error {
	if len(body) < 4 {
		return errNetlink
	}
	if errno := -int32(binary.NativeEndian.Uint32(body)); errno > 0 {
		return unix.Errno(errno)
	}
	return errNetlink
}

// fromKernel tells the kernel's messages from those of other processes.
func fromKernel(from unix.Sockaddr) bool {
	sa, ok := from.(*unix.SockaddrNetlink)
	return ok && sa.Pid == 0
}

// linksOf names the interfaces that have addresses by ioctl, for where a dump
// of interfaces is forbidden (apps on Android 11 and later).
func linksOf(addrs []addrMsg) ([]linkMsg, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var links []linkMsg
	seen := make(map[int]bool)
	for _, a := range addrs {
		if seen[a.index] {
			continue
		}
		seen[a.index] = true
		req, err := unix.NewIfreq("")
		if err != nil {
			return nil, err
		}
		req.SetUint32(uint32(a.index))
		if unix.IoctlIfreq(fd, unix.SIOCGIFNAME, req) != nil {
			continue // gone since the dump
		}
		l := linkMsg{index: a.index, name: req.Name()}
		if unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req) != nil {
			continue
		}
		l.flags = uint32(req.Uint16())
		if l.flags&unix.IFF_RUNNING != 0 { // the upper half does not fit in here
			l.flags |= unix.IFF_LOWER_UP
		}
		links = append(links, l)
	}
	return links, nil
}
