package android

import "slices"

// The parts of a mark on a socket or a rule (system/netd/include/Fwmark.h).
const (
	markNetID      = 0xffff
	markExplicit   = 1 << 16 // the network was chosen, not taken by default
	markPermission = 3 << 18
	permissionAt   = 18
)

// A network of the phone's own (local, dummy, unreachable) has a number below
// this one (system/netd/server/NetworkController.cpp, MIN_NET_ID).
const firstNetID = 100

// tableOffset is what netd adds to an interface's index to number its table
// (RouteController.h, ROUTE_TABLE_OFFSET_FROM_INDEX).
const tableOffset = 1000

// Permission is what a caller needs to choose a network.
type Permission uint8

// The permissions (system/netd/server/Permission.h). A network that is up but
// not in use, as cellular beside Wi-Fi, needs PermissionNetwork.
const (
	PermissionNone    Permission = 0
	PermissionNetwork Permission = 1 // CHANGE_NETWORK_STATE
	PermissionSystem  Permission = 3
)

// String is the permission as `mlget links` shows it.
func (p Permission) String() string {
	switch p {
	case PermissionNone:
		return "none"
	case PermissionNetwork:
		return "CHANGE_NETWORK_STATE"
	case PermissionSystem:
		return "system"
	}
	return "unknown"
}

// Rule is what Networks needs of a routing rule (RTM_NEWRULE).
type Rule struct {
	Mark, Mask uint32
	Table      uint32
	OIF        string // "" where the rule is for every interface
	UIDs       bool   // it is for some users only
	ToTable    bool   // its action is to look a table up
}

// Network is one interface of a network that Android has set up. A network
// with 464XLAT has two.
type Network struct {
	NetID      uint32
	Index      int    // of the interface, as its table is numbered
	Interface  string // by name, where a rule tells; it counts more than Index
	Permission Permission
}

// Networks finds the networks in netd's routing rules: those for sockets that
// have chosen one (RouteController.cpp, modifyExplicitNetworkRule). Of an
// interface that left and came back under its name netd keeps the old table,
// so the name is taken from the rule for sockets bound to the interface, where
// that leads to the same table.
func Networks(rules []Rule) []Network {
	var found []Network
	for _, r := range rules {
		const whole = markNetID | markExplicit
		netID := r.Mark & markNetID
		if !r.ToTable || r.UIDs || r.OIF != "" || r.Mask&whole != whole || r.Mark&markExplicit == 0 || netID < firstNetID {
			continue
		}
		n := Network{
			NetID:      netID,
			Permission: Permission(r.Mask & markPermission >> permissionAt),
			Interface:  interfaceOf(rules, r.Table),
		}
		n.Index = IndexOf(r.Table)
		if n.Index == 0 && n.Interface == "" || slices.Contains(found, n) { // one rule for each address family
			continue
		}
		found = append(found, n)
	}
	return found
}

// VPN finds the network of the VPN whose routes netd keeps in a table. Its number is in the
// rule for the system's own programs, which alone choose it by their permission
// (RouteController.cpp, modifyVpnSystemPermissionRule): those that are under the VPN need no
// rule, but may choose it too (NetworkController::checkUserNetworkAccess, appliesToUser).
func VPN(rules []Rule, table uint32) (n Network, ok bool) {
	for _, r := range rules {
		const system = markPermission
		netID := r.Mark & markNetID
		if r.ToTable && !r.UIDs && r.OIF == "" && r.Table == table && netID >= firstNetID &&
			r.Mask&(markNetID|system) == markNetID|system && r.Mark&system == system && r.Mask&markExplicit == 0 {
			return Network{NetID: netID, Index: IndexOf(table), Interface: interfaceOf(rules, table)}, true
		}
	}
	return Network{}, false
}

// IndexOf is the index of the interface whose routes netd keeps in a table; 0: it is
// no such table. Those beyond hold the local routes of an interface.
func IndexOf(table uint32) int {
	if table <= tableOffset || table >= 1<<29 {
		return 0
	}
	return int(table - tableOffset)
}

// interfaceOf is the interface whose sockets look a table up.
func interfaceOf(rules []Rule, table uint32) string {
	for _, r := range rules {
		if r.ToTable && r.OIF != "" && r.Table == table {
			return r.OIF
		}
	}
	return ""
}
