package link

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/sys/unix"
)

// Messages from a netlink socket are checked like any outside data: every length is compared
// with the bytes that are there. The layouts are those of rtnetlink(7); numbers are in the
// machine's byte order.

var errNetlink = errors.New("malformed netlink message")

// message is one netlink message.
type message struct {
	kind  uint16
	flags uint16
	body  []byte
}

// nextMessage cuts the first message off b.
func nextMessage(b []byte) (m message, rest []byte, err error) {
	if len(b) < unix.SizeofNlMsghdr {
		return message{}, nil, errNetlink
	}
	n := binary.NativeEndian.Uint32(b)
	if n < unix.SizeofNlMsghdr || uint64(n) > uint64(len(b)) {
		return message{}, nil, errNetlink
	}
	m = message{
		kind:  binary.NativeEndian.Uint16(b[4:]),
		flags: binary.NativeEndian.Uint16(b[6:]),
		body:  b[unix.SizeofNlMsghdr:n],
	}
	return m, b[min(align4(int(n)), len(b)):], nil
}

// nextAttr cuts the first attribute off b; ok is false at the end and where
// what follows is malformed.
func nextAttr(b []byte) (kind uint16, value, rest []byte, ok bool) {
	if len(b) < unix.SizeofRtAttr {
		return 0, nil, nil, false
	}
	n := int(binary.NativeEndian.Uint16(b))
	if n < unix.SizeofRtAttr || n > len(b) {
		return 0, nil, nil, false
	}
	kind = binary.NativeEndian.Uint16(b[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
	return kind, b[unix.SizeofRtAttr:n], b[min(align4(n), len(b)):], true
}

func align4(n int) int { return (n + 3) &^ 3 }

func attrUint32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.NativeEndian.Uint32(b)
}

func attrString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// linkMsg is an interface, from RTM_NEWLINK or RTM_DELLINK.
type linkMsg struct {
	index int
	flags uint32 // IFF_*
	name  string
	kind  string // "" for hardware
	// master is the device that this one is a part of, a bridge or a VRF; 0: none.
	master int
	table  uint32 // of routes, of a VRF
}

func parseLink(b []byte) (linkMsg, bool) {
	if len(b) < unix.SizeofIfInfomsg {
		return linkMsg{}, false
	}
	l := linkMsg{
		index: int(int32(binary.NativeEndian.Uint32(b[4:]))),
		flags: binary.NativeEndian.Uint32(b[8:]),
	}
	for kind, v, rest, ok := nextAttr(b[unix.SizeofIfInfomsg:]); ok; kind, v, rest, ok = nextAttr(rest) {
		switch kind {
		case unix.IFLA_IFNAME:
			l.name = attrString(v)
		case unix.IFLA_MASTER:
			l.master = int(int32(attrUint32(v)))
		case unix.IFLA_LINKINFO:
			l.parseKind(v)
		}
	}
	return l, l.index > 0 && l.name != ""
}

// kindVRF is the kernel's name for virtual routers (vrf.rst of Linux).
const kindVRF = "vrf"

// parseKind reads the kind of device.
func (l *linkMsg) parseKind(b []byte) {
	var data []byte
	for kind, v, rest, ok := nextAttr(b); ok; kind, v, rest, ok = nextAttr(rest) {
		switch kind {
		case unix.IFLA_INFO_KIND:
			l.kind = attrString(v)
		case unix.IFLA_INFO_DATA:
			data = v
		}
	}
	if l.kind != kindVRF {
		return
	}
	for kind, v, rest, ok := nextAttr(data); ok; kind, v, rest, ok = nextAttr(rest) {
		if kind == unix.IFLA_VRF_TABLE {
			l.table = attrUint32(v)
		}
	}
}

// addrMsg is an address of an interface, from RTM_NEWADDR.
type addrMsg struct {
	index  int
	prefix netip.Prefix
	flags  uint32 // IFA_F_*
}

func parseAddr(b []byte) (addrMsg, bool) {
	if len(b) < unix.SizeofIfAddrmsg {
		return addrMsg{}, false
	}
	family, bits := b[0], int(b[1])
	a := addrMsg{flags: uint32(b[2]), index: int(int32(binary.NativeEndian.Uint32(b[4:])))}
	var local, address netip.Addr
	for kind, v, rest, ok := nextAttr(b[unix.SizeofIfAddrmsg:]); ok; kind, v, rest, ok = nextAttr(rest) {
		switch kind {
		case unix.IFA_LOCAL:
			local = attrAddr(family, v)
		case unix.IFA_ADDRESS: // the peer's on point-to-point links
			address = attrAddr(family, v)
		case unix.IFA_FLAGS:
			a.flags = attrUint32(v)
		}
	}
	if !local.IsValid() {
		local = address
	}
	a.prefix = netip.PrefixFrom(local, bits)
	return a, a.index > 0 && a.prefix.IsValid()
}

func attrAddr(family byte, b []byte) netip.Addr {
	switch {
	case family == unix.AF_INET && len(b) == 4:
		return netip.AddrFrom4([4]byte(b))
	case family == unix.AF_INET6 && len(b) == 16:
		return netip.AddrFrom16([16]byte(b))
	}
	return netip.Addr{}
}

// routeMsg is a route, from RTM_NEWROUTE.
type routeMsg struct {
	family byte
	dstLen int // bits of the destination's prefix; 0 is a default route
	kind   byte
	table  uint32
	metric uint32
	devs   []int // interfaces of its next hops
	// gateway is its next hop's address; not valid: there is none, or there are several.
	gateway netip.Addr
}

// parseRoute returns false for cached routes and for routes that apply to some sources only.
func parseRoute(b []byte) (routeMsg, bool) {
	if len(b) < unix.SizeofRtMsg {
		return routeMsg{}, false
	}
	r := routeMsg{family: b[0], dstLen: int(b[1]), kind: b[7], table: uint32(b[4])}
	flags := binary.NativeEndian.Uint32(b[8:])
	if b[2] != 0 || flags&unix.RTM_F_CLONED != 0 {
		return routeMsg{}, false
	}
	for kind, v, rest, ok := nextAttr(b[unix.SizeofRtMsg:]); ok; kind, v, rest, ok = nextAttr(rest) {
		switch kind {
		case unix.RTA_OIF:
			if dev := int(int32(attrUint32(v))); dev > 0 && flags&unix.RTNH_F_DEAD == 0 {
				r.devs = append(r.devs, dev)
			}
		case unix.RTA_GATEWAY:
			r.gateway = attrAddr(r.family, v)
		case unix.RTA_TABLE:
			r.table = attrUint32(v)
		case unix.RTA_PRIORITY:
			r.metric = attrUint32(v)
		case unix.RTA_MULTIPATH:
			r.devs = append(r.devs, parseNextHops(v)...)
		}
	}
	return r, true
}

// parseNextHops gives the interfaces of the next hops that are alive.
func parseNextHops(b []byte) []int {
	var devs []int
	for len(b) >= unix.SizeofRtNexthop {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtNexthop || n > len(b) {
			break
		}
		if dev := int(int32(binary.NativeEndian.Uint32(b[4:]))); dev > 0 && b[2]&unix.RTNH_F_DEAD == 0 {
			devs = append(devs, dev)
		}
		b = b[min(align4(n), len(b)):]
	}
	return devs
}

// ruleMsg is a routing rule, from RTM_NEWRULE.
type ruleMsg struct {
	family   byte
	action   byte
	invert   bool
	priority uint32
	table    uint32
	src      netip.Prefix // not valid: any source
	iif, oif string
	mark     uint32
	mask     uint32
	uids     [2]uint32 // first and last user id that it applies to
	suppress int       // routes with a prefix up to this long do not count; -1: all count
	l3mdev   bool      // its table is that of the flow's VRF
	other    bool      // depends on what is not known here: ports, protocol, TOS, destination
}

func parseRule(b []byte) (ruleMsg, bool) {
	const header = 12 // struct fib_rule_hdr
	if len(b) < header {
		return ruleMsg{}, false
	}
	r := ruleMsg{
		family:   b[0],
		action:   b[7],
		table:    uint32(b[4]),
		invert:   binary.NativeEndian.Uint32(b[8:])&unix.FIB_RULE_INVERT != 0,
		mask:     0,
		uids:     [2]uint32{0, 1<<32 - 1},
		suppress: -1,
		other:    b[1] != 0 || b[3] != 0, // length of a destination's prefix, TOS
	}
	var src netip.Addr
	for kind, v, rest, ok := nextAttr(b[header:]); ok; kind, v, rest, ok = nextAttr(rest) {
		switch kind {
		case unix.FRA_SRC:
			src = attrAddr(r.family, v)
		case unix.FRA_TABLE:
			r.table = attrUint32(v)
		case unix.FRA_PRIORITY:
			r.priority = attrUint32(v)
		case unix.FRA_IIFNAME:
			r.iif = attrString(v)
		case unix.FRA_OIFNAME:
			r.oif = attrString(v)
		case unix.FRA_FWMARK:
			r.mark = attrUint32(v)
		case unix.FRA_FWMASK:
			r.mask = attrUint32(v)
		case unix.FRA_SUPPRESS_PREFIXLEN:
			r.suppress = int(int32(attrUint32(v)))
		case unix.FRA_UID_RANGE:
			if len(v) >= 8 {
				r.uids = [2]uint32{attrUint32(v), attrUint32(v[4:])}
			}
		case unix.FRA_SUPPRESS_IFGROUP:
			r.other = r.other || int32(attrUint32(v)) != -1
		case unix.FRA_L3MDEV:
			r.l3mdev = len(v) > 0 && v[0] != 0
		case unix.FRA_TUN_ID, unix.FRA_IP_PROTO, unix.FRA_SPORT_RANGE, unix.FRA_DPORT_RANGE:
			r.other = true
		}
	}
	if b[2] != 0 {
		r.src = netip.PrefixFrom(src, int(b[2]))
		if !r.src.IsValid() {
			return ruleMsg{}, false
		}
	}
	return r, true
}
