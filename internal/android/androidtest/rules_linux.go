package androidtest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// Interface is an interface of a network.
type Interface struct {
	Name    string
	Network Network
}

// tableOf is where the routes of an interface go.
func tableOf(index int) int { return 1000 + index }

// priorities are what netd's rules are numbered by: RouteController.cpp up to
// Android 11, RouteController.h since.
type priorities struct {
	overrideOIF, secureVPN, prohibit, uidExplicit, explicit, outputInterface, implicit, bypassableVPN, uidDefault, defaultNetwork, unreachable int
}

func prioritiesOf(sdk int) priorities {
	switch {
	case sdk < 31: // up to Android 11
		return priorities{10500, 12000, 12500, 0, 13000, 14000, 19000, 20000, 0, 22000, 32000}
	case sdk < 33: // Android 12
		return priorities{11000, 13000, 14000, 15000, 16000, 17000, 23000, 24000, 27000, 29000, 32000}
	}
	return priorities{11000, 13000, 14000, 15000, 16000, 17000, 23000, 24000, 29000, 31000, 32000}
}

// Shape gives this thread's network namespace the routing rules of a phone.
// Routes of the interfaces are moved from the main table, which no rule leads
// to any more, to their own.
func Shape(n *Netd, interfaces []Interface) error {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		moved := interfaces
		if n.VPN != "" {
			moved = append(slices.Clone(interfaces), Interface{Name: n.VPN})
		}
		if err := moveRoutes(family, moved); err != nil {
			return err
		}
		old, err := netlink.RuleList(family)
		if err != nil {
			return fmt.Errorf("rules: %w", err)
		}
		for _, r := range old {
			if r.Priority <= 0 { // of the local table; listed without, or with 0
				continue
			}
			r.Family = family
			if err := netlink.RuleDel(&r); err != nil {
				return fmt.Errorf("rule %v: %w", r, err)
			}
		}
		for _, r := range n.rules(family, interfaces) {
			if err := netlink.RuleAdd(r); err != nil {
				return fmt.Errorf("rule %v: %w", r, err)
			}
		}
	}
	return nil
}

// moveRoutes copies what the main table has for the interfaces to their tables.
func moveRoutes(family int, interfaces []Interface) error {
	routes, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return fmt.Errorf("routes: %w", err)
	}
	for _, i := range interfaces {
		l, err := netlink.LinkByName(i.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
		for _, r := range routes {
			if r.LinkIndex != l.Attrs().Index {
				continue
			}
			r.Table, r.Priority, r.Flags, r.Protocol = tableOf(r.LinkIndex), 0, 0, unix.RTPROT_STATIC
			if err := netlink.RouteAdd(&r); err != nil && !errors.Is(err, unix.EEXIST) {
				return fmt.Errorf("route %v: %w", r, err)
			}
		}
	}
	return nil
}

// rules are those of one address family.
func (n *Netd) rules(family int, interfaces []Interface) []*netlink.Rule {
	p := prioritiesOf(n.SDK)
	var rules []*netlink.Rule
	add := func(priority int, change func(*netlink.Rule)) {
		r := netlink.NewRule()
		r.Family, r.Priority = family, priority
		change(r)
		rules = append(rules, r)
	}
	marked := func(r *netlink.Rule, mark, mask uint32) { r.Mark, r.Mask = mark, &mask }
	for _, i := range interfaces {
		l, err := netlink.LinkByName(i.Name)
		if err != nil {
			continue // moveRoutes has told
		}
		table, need := tableOf(l.Attrs().Index), uint32(i.Network.Permission)<<18
		add(p.overrideOIF, func(r *netlink.Rule) {
			r.Table, r.OifName, r.UIDRange = table, i.Name, netlink.NewRuleUIDRange(0, 0)
		})
		add(p.explicit, func(r *netlink.Rule) {
			r.Table = table
			marked(r, i.Network.NetID|explicit|need, 0x1ffff|need)
		})
		add(p.outputInterface, func(r *netlink.Rule) {
			r.Table, r.OifName = table, i.Name
			if need != 0 {
				marked(r, need, need)
			}
		})
		if need == 0 {
			add(p.implicit, func(r *netlink.Rule) { r.Table = table; marked(r, i.Network.NetID, 0x1ffff) })
		}
		for _, uid := range i.Network.Users { // from Android 12 on
			add(p.uidExplicit, func(r *netlink.Rule) {
				r.Table, r.UIDRange = table, netlink.NewRuleUIDRange(uid, uid)
				marked(r, i.Network.NetID|explicit, 0x1ffff)
			})
			add(p.uidDefault, func(r *netlink.Rule) {
				r.Table, r.UIDRange, r.IifName = table, netlink.NewRuleUIDRange(uid, uid), "lo"
				marked(r, 0, 0xffff)
			})
		}
		if i.Network.NetID == n.Networks[0].NetID {
			add(p.defaultNetwork, func(r *netlink.Rule) { r.Table, r.IifName = table, "lo"; marked(r, 0, 0xffff) })
		}
	}
	if l, err := netlink.LinkByName(n.VPN); n.VPN != "" && err == nil {
		// Not what is protected, or has chosen a network: of a secure VPN, only the first.
		table := tableOf(l.Attrs().Index)
		if n.VPNID != 0 { // modifyVpnSystemPermissionRule
			system := uint32(android.PermissionSystem) << 18
			priority := p.secureVPN
			if len(n.Secured) == 0 {
				priority = p.bypassableVPN
			}
			add(priority, func(r *netlink.Rule) { r.Table = table; marked(r, n.VPNID|system, 0xffff|system) })
		}
		for _, uid := range n.Secured {
			add(p.secureVPN, func(r *netlink.Rule) {
				r.Table, r.IifName, r.UIDRange = table, "lo", netlink.NewRuleUIDRange(uid, uid)
				marked(r, 0, protected)
			})
		}
		for _, uid := range n.Bypassing {
			add(p.bypassableVPN, func(r *netlink.Rule) {
				r.Table, r.IifName, r.UIDRange = table, "lo", netlink.NewRuleUIDRange(uid, uid)
				marked(r, 0, 0xffff)
			})
		}
	}
	for _, uid := range n.Secured {
		add(p.prohibit, func(r *netlink.Rule) {
			r.Type, r.IifName, r.UIDRange = unix.FR_ACT_PROHIBIT, "lo", netlink.NewRuleUIDRange(uid, uid)
			marked(r, 0, protected)
		})
	}
	// The network that hosts of the phone itself have, 99: below the networks.
	add(p.explicit, func(r *netlink.Rule) { r.Table = 97; marked(r, 99|explicit, 0x1ffff) })
	add(p.unreachable, func(r *netlink.Rule) { r.Type = unix.FR_ACT_UNREACHABLE })
	return rules
}
