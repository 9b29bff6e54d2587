package link

import (
	"cmp"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// fib is the kernel's routing policy as far as it decides where packets to
// the internet at large go: rules and default routes. A pair of routes to
// 0.0.0.0/1 and 128.0.0.0/1, by which VPNs overrule a default route, counts as
// one too. Lookup follows fib_rules_lookup and fib_table_lookup of Linux.
type fib struct {
	rules  []ruleMsg
	routes []routeMsg
	uid    uint32 // the user that this process runs as
	vrfs   map[int]vrf
}

// vrf is the virtual router that an interface is, or belongs to.
type vrf struct {
	table  uint32
	itself bool // the interface is the router: its routes lead through its members
}

// vrfsOf finds the interfaces with a virtual router.
func vrfsOf(links []linkMsg) map[int]vrf {
	found := make(map[int]vrf)
	for _, l := range links {
		if l.kind == kindVRF {
			found[l.index] = vrf{l.table, true}
		}
	}
	for _, l := range links {
		if of, ok := found[l.master]; ok && of.itself {
			found[l.index] = vrf{table: of.table}
		}
	}
	return found
}

// halfDefault is the longest prefix that counts as a default route.
const halfDefault = 1

func newFib(rules []ruleMsg, routes []routeMsg, uid int) *fib {
	f := &fib{rules: slices.Clone(rules), uid: uint32(max(uid, 0))}
	for _, r := range routes {
		if r.dstLen <= halfDefault {
			f.routes = append(f.routes, r)
		}
	}
	// Stable: where nothing else decides, the order of the dump does.
	slices.SortStableFunc(f.rules, func(a, b ruleMsg) int { return cmp.Compare(a.priority, b.priority) })
	slices.SortStableFunc(f.routes, func(a, b routeMsg) int {
		return cmp.Or(cmp.Compare(b.dstLen, a.dstLen), cmp.Compare(a.metric, b.metric))
	})
	return f
}

// flow is a socket's facts that decide the route of its packets.
type flow struct {
	family byte
	src    netip.Addr // not valid: not bound to an address
	oif    int        // interface that it is bound to; 0: none
	name   string     // of oif
	mark   uint32     // of the socket
}

// lookup gives the interfaces of the route that a flow to the internet takes,
// none where there is no route.
func (f *fib) lookup(to flow) []int { return f.route(to).devs }

// route is the route that a flow to the internet takes; the zero value is none.
func (f *fib) route(to flow) routeMsg {
	for i := range f.rules {
		r := &f.rules[i]
		if r.family != to.family || r.matches(to, f.uid) == r.invert {
			continue
		}
		switch r.action {
		case unix.FR_ACT_TO_TBL:
			table, to := r.table, to
			if r.l3mdev {
				of, ok := f.vrfs[to.oif]
				if !ok {
					continue
				}
				if table = of.table; of.itself {
					to.oif = 0
				}
			}
			if found, done := f.lookupTable(r, table, to); done {
				return found
			}
		case unix.FR_ACT_BLACKHOLE, unix.FR_ACT_UNREACHABLE, unix.FR_ACT_PROHIBIT:
			return routeMsg{}
		}
	}
	return routeMsg{}
}

func (f *fib) lookupTable(rule *ruleMsg, table uint32, to flow) (found routeMsg, done bool) {
	for _, r := range f.routes {
		if r.family != to.family || r.table != table {
			continue
		}
		switch r.kind {
		case unix.RTN_UNICAST:
			if len(r.devs) == 0 || to.oif != 0 && !slices.Contains(r.devs, to.oif) {
				continue
			}
			if r.dstLen <= rule.suppress {
				return routeMsg{}, false
			}
			return r, true
		case unix.RTN_UNREACHABLE, unix.RTN_BLACKHOLE, unix.RTN_PROHIBIT:
			return routeMsg{}, true
		case unix.RTN_THROW:
			return routeMsg{}, false
		}
	}
	return routeMsg{}, false
}

// matches says whether a rule, were it not inverted, applies to a flow. A condition that cannot
// be decided does not apply.
func (r *ruleMsg) matches(to flow, uid uint32) bool {
	switch {
	case r.other:
		return r.invert // so that it is skipped either way
	case r.src.IsValid() && (!to.src.IsValid() || !r.src.Contains(to.src)):
		return false
	case r.iif != "" && r.iif != "lo": // what this machine sends comes in by lo
		return false
	case r.oif != "" && (to.oif == 0 || r.oif != to.name):
		return false
	case (to.mark^r.mark)&r.mask != 0:
		return false
	case uid < r.uids[0] || uid > r.uids[1]:
		return false
	}
	return true
}

// hasSourceRule says whether some rule picks a table for packets from addr.
func (f *fib) hasSourceRule(addr netip.Addr) bool {
	return slices.ContainsFunc(f.rules, func(r ruleMsg) bool {
		return r.src.IsValid() && !r.invert && r.src.Contains(addr)
	})
}

// maxMetric is the highest metric of the family's default routes.
func (f *fib) maxMetric(family byte) uint32 {
	var highest uint32
	for _, r := range f.routes {
		if r.family == family && r.kind == unix.RTN_UNICAST && len(r.devs) > 0 {
			highest = max(highest, r.metric)
		}
	}
	return highest
}
