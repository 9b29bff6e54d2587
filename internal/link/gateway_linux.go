package link

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// Gateway is one of several routers behind an interface, with a route of its own: where there is
// none that a socket can choose, a routing table that holds this route alone, and a rule that
// leads there whatever has its mark. The kernel keeps both when a program is killed; the next
// one that needs a route removes them. A program says that it lives by an abstract socket's
// name, which the kernel frees when it ends, and which is of one network namespace, like routes.
//
// Contract: Over may be called from one goroutine at a time, Close once, last.
type Gateway struct {
	via    netip.Addr
	source netip.Addr // to be bound as well; not valid: none
	mark   uint32     // and table; 0: the kernel has a route already
	alive  int        // the socket
}

const (
	// gatewayTables are the tables, and marks, of routes that programs have made for
	// themselves: "ml" in the upper half, which sets no bit that other programs are known to
	// look at (Kubernetes 0x4000 and 0x8000, Tailscale 0xff0000 = 0x40000 and 0x80000).
	gatewayTables = uint32('m')<<24 | uint32('l')<<16
	gatewayMost   = 256
	// gatewayPriority is the rules': before those for VRFs, which are at 1000, and behind the
	// local addresses' (ip-rule(8)).
	gatewayPriority = 900
	// gatewayProtocol says whose rules and routes they are (rt_protos of iproute2).
	gatewayProtocol = 'm'
)

// OpenGateway makes a route over an interface by one of the routers behind it, or finds one.
func OpenGateway(i Info, via netip.Addr) (*Gateway, error) {
	if i.Android != nil || android.Here("") || i.Bind != BindDevice {
		return nil, fmt.Errorf("%w: sockets cannot be bound to a device here", ErrGateway)
	}
	if at := slices.IndexFunc(i.routers, func(r router) bool { return r.gateway == via }); at >= 0 {
		return &Gateway{via: via, source: i.routers[at].source}, nil
	}
	if via.Is4() && i.RPFilter == 1 && !i.Main {
		return nil, fmt.Errorf("%w: the kernel would drop the replies: rp_filter is 1 (sudo sysctl -w %s)", ErrGateway,
			shellWord("net.ipv4.conf."+strings.ReplaceAll(i.Name, ".", "/")+".rp_filter=2"))
	}
	k, err := dialKernel()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGateway, err)
	}
	defer k.close()
	k.sweep()
	g := &Gateway{via: via}
	if err := g.claim(); err != nil {
		return nil, err
	}
	k.remove(g.mark)
	if err = k.add(g, i); err == nil {
		err = k.change(unix.RTM_NEWRULE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, g.rule())
	}
	if err == nil {
		return g, nil
	}
	_ = g.Close() // the first error counts
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("%w: %w (%s)", ErrGateway, err, gatewayFix(i.Name, via))
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.EINVAL):
		return nil, fmt.Errorf("%w: %s is no neighbour on %s (%w)", ErrGateway, via, i.Name, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrGateway, err)
}

// Over is the link as it is by the gateway. The route went if the interface was down.
func (g *Gateway) Over(i Info) (Info, error) {
	if g.mark == 0 {
		return g.over(i), nil
	}
	k, err := dialKernel()
	if err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrGateway, err)
	}
	defer k.close()
	if err := k.add(g, i); err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrGateway, err)
	}
	return g.over(i), nil
}

// Close removes the route.
func (g *Gateway) Close() error {
	if g.mark == 0 {
		return nil
	}
	defer unix.Close(g.alive) //nolint:errcheck // nothing was written
	k, err := dialKernel()
	if err != nil {
		return err
	}
	defer k.close()
	k.remove(g.mark)
	return nil
}

// claim takes the first mark that no program has.
func (g *Gateway) claim() error {
	for n := range uint32(gatewayMost) {
		fd, err := claim(gatewayTables | n)
		if err == nil {
			g.mark, g.alive = gatewayTables|n, fd
			return nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return fmt.Errorf("%w: %w", ErrGateway, err)
		}
	}
	return fmt.Errorf("%w: there are too many", ErrGateway)
}

// claim takes one mark as long as the descriptor is open.
func claim(mark uint32) (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	if err = unix.Bind(fd, &unix.SockaddrUnix{Name: "@mlget-route-" + strconv.FormatUint(uint64(mark), 16)}); err != nil {
		unix.Close(fd) //nolint:errcheck // nothing was written
		return -1, os.NewSyscallError("bind", err)
	}
	return fd, nil
}

// kernel is where routes are made.
type kernel struct {
	dumps
	sequence uint32
}

func dialKernel() (*kernel, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, os.NewSyscallError("netlink", err)
	}
	tv := unix.NsecToTimeval(int64(5e9)) // it answers at once
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		unix.Close(fd) //nolint:errcheck // nothing was written
		return nil, os.NewSyscallError("netlink", err)
	}
	return &kernel{dumps: dumps{fd, make([]byte, receiveBuffer)}}, nil
}

func (k *kernel) close() { unix.Close(k.fd) } //nolint:errcheck // every answer was read

// add makes the gateway's route, if it is not there. A card that goes down takes its route
// with it: below it another one refuses packets, so that none leaves by the main table.
func (k *kernel) add(g *Gateway, i Info) error {
	refuse := attribute(routeOf(g.family(), g.mark, unix.RTN_UNREACHABLE), unix.RTA_PRIORITY,
		binary.NativeEndian.AppendUint32(nil, refuseMetric))
	if err := k.change(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, refuse); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	route := routeOf(g.family(), g.mark, unix.RTN_UNICAST)
	route = attribute(route, unix.RTA_GATEWAY, g.via.AsSlice())
	route = attribute(route, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(i.Index)))
	err := k.change(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, route)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// remove removes what there is of a mark, of both families.
func (k *kernel) remove(mark uint32) {
	for _, family := range [...]byte{unix.AF_INET, unix.AF_INET6} {
		for there := true; there; {
			there = k.change(unix.RTM_DELRULE, 0, ruleOf(family, mark)) == nil
		}
		for there := true; there; {
			there = k.change(unix.RTM_DELROUTE, 0, routeOf(family, mark, unix.RTN_UNSPEC)) == nil
		}
	}
}

// sweep removes what programs that were killed have left.
func (k *kernel) sweep() {
	rules, err := dump(context.Background(), k.dumps, unix.RTM_GETRULE, unix.RTM_NEWRULE, parseRule)
	if err != nil {
		return
	}
	for _, r := range rules {
		if r.table != r.mark || r.table < gatewayTables || r.table >= gatewayTables+gatewayMost || r.priority != gatewayPriority {
			continue
		}
		if fd, err := claim(r.table); err == nil {
			k.remove(r.table)
			unix.Close(fd) //nolint:errcheck // nothing was written
		}
	}
}

func (g *Gateway) family() byte {
	if g.via.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func (g *Gateway) rule() []byte { return ruleOf(g.family(), g.mark) }

// ruleOf is the rule that leads packets with a mark to its table: a struct fib_rule_hdr and
// attributes.
func ruleOf(family byte, mark uint32) []byte {
	number := func(n uint32) []byte { return binary.NativeEndian.AppendUint32(nil, n) }
	b := make([]byte, 12)
	b[0], b[7] = family, unix.FR_ACT_TO_TBL
	b = attribute(b, unix.FRA_TABLE, number(mark))
	b = attribute(b, unix.FRA_PRIORITY, number(gatewayPriority))
	b = attribute(b, unix.FRA_FWMARK, number(mark))
	b = attribute(b, unix.FRA_FWMASK, number(1<<32-1))
	return attribute(b, unix.FRA_PROTOCOL, []byte{gatewayProtocol})
}

// refuseMetric ranks below any route of a gateway, whose metric is 0 (IPv4) or 1024 (IPv6).
const refuseMetric = 1 << 30

// routeOf is a default route in a mark's table: a struct rtmsg and attributes.
func routeOf(family byte, mark uint32, kind byte) []byte {
	b := make([]byte, unix.SizeofRtMsg)
	b[0], b[5], b[7] = family, gatewayProtocol, kind
	return attribute(b, unix.RTA_TABLE, binary.NativeEndian.AppendUint32(nil, mark))
}

// attribute appends one to a message.
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, align4(len(value))-len(value))...)
}

// change has the kernel do something, and waits until it is done.
func (k *kernel) change(request, flags uint16, body []byte) error {
	k.sequence++
	out := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
	binary.NativeEndian.PutUint32(out, uint32(unix.SizeofNlMsghdr+len(body)))
	binary.NativeEndian.PutUint16(out[4:], request)
	binary.NativeEndian.PutUint16(out[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
	binary.NativeEndian.PutUint32(out[8:], k.sequence)
	if err := unix.Sendto(k.fd, append(out, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("netlink", err)
	}
	for {
		n, sender, err := unix.Recvfrom(k.fd, k.buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return os.NewSyscallError("netlink", err)
		}
		m, _, err := nextMessage(k.buf[:n])
		switch {
		case !fromKernel(sender) || err != nil || binary.NativeEndian.Uint32(k.buf[8:]) != k.sequence:
		case m.kind == unix.NLMSG_ERROR && len(m.body) >= 4 && binary.NativeEndian.Uint32(m.body) == 0:
			return nil // it is an acknowledgement
		case m.kind == unix.NLMSG_ERROR:
			return netlinkErrno(m.body)
		}
	}
}
