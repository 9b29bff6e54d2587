package link

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// clatPrefix begins the name of the interface that translates the IPv4 of an
// interface without (464XLAT).
const clatPrefix = "v4-"

// phone is what Android says of its networks, and of what this process may do with them. On
// Android the mark of a socket decides its network: netd sets the mark on request, if the
// process may use the network.
type phone struct {
	networks []android.Network
	access   map[uint32]access // by netId
	uid      uint32
	netd     *android.Fwmarkd
	resolver string // path of its socket
	noNames  error  // why the resolver cannot be asked; nil: it can
	vpn      string // the VPN that this user's data goes through where it chooses no network; "": none
	vpnID    uint32 // its network; 0: not known
}

// access is the result of asking netd for a network.
type access struct {
	mark uint32
	err  error
}

// androidRules are the routing rules as package android reads them.
func (f *fib) androidRules() []android.Rule {
	rules := make([]android.Rule, 0, len(f.rules))
	for _, r := range f.rules {
		rules = append(rules, android.Rule{
			Mark: r.mark, Mask: r.mask, Table: r.table, OIF: r.oif,
			UIDs: r.uids != [2]uint32{0, 1<<32 - 1}, ToTable: r.action == unix.FR_ACT_TO_TBL,
		})
	}
	return rules
}

// askPhone asks netd about each network in the routing rules. It sends nothing.
func (s System) askPhone(ctx context.Context, snap *snapshot) *phone {
	rules := snap.fib.androidRules()
	p := &phone{
		networks: android.Networks(rules),
		access:   make(map[uint32]access),
		uid:      snap.fib.uid,
		resolver: android.ResolverPath(s.Root),
	}
	var table uint32
	if p.vpn, table = vpnOf(snap); p.vpn != "" {
		if n, ok := android.VPN(rules, table); ok {
			n.Interface = p.vpn
			p.vpnID, p.networks = n.NetID, append(p.networks, n)
		}
	}
	if s.memory != nil {
		p.netd = s.memory.netd
	} else {
		p.netd = android.NewFwmarkd(android.FwmarkdPath(s.Root))
	}
	p.noNames = android.CheckResolver(ctx, p.resolver)
	for _, n := range p.networks {
		if _, known := p.access[n.NetID]; !known {
			mark, err := p.netd.Probe(ctx, n.NetID)
			p.access[n.NetID] = access{mark, err}
		}
	}
	return p
}

// vpnOf finds the VPN that is up for the user of this process: netd's rules for
// VPNs are for ranges of users, and lead to its interface's table.
func vpnOf(snap *snapshot) (name string, table uint32) {
	for _, r := range snap.fib.rules {
		if r.uids == [2]uint32{0, 1<<32 - 1} || snap.fib.uid < r.uids[0] || snap.fib.uid > r.uids[1] || r.action != unix.FR_ACT_TO_TBL {
			continue
		}
		at := slices.IndexFunc(snap.links, func(l linkMsg) bool { return l.index == android.IndexOf(r.table) })
		if at < 0 {
			continue
		}
		if l := snap.links[at]; classify(l.name, l.kind, false) == VirtualVPN && l.flags&unix.IFF_UP != 0 {
			return l.name, r.table
		}
	}
	return "", 0
}

// onlyVPN says whether Android lets this user use the VPN and nothing else: then it is
// the way of all that the user sends, as of other apps' data.
func (p *phone) onlyVPN() bool {
	held := false
	for id, a := range p.access {
		var refused *android.Refusal
		switch {
		case id == p.vpnID:
		case a.err == nil:
			return false
		case errors.As(a.err, &refused) && refused.VPN():
			held = true
		}
	}
	return held
}

// meteredUnderVPN says whether what carries the VPN may cost money. Android carries it by
// the network that needs no permission: with Wi-Fi, cellular is up for those that have one.
func (p *phone) meteredUnderVPN(snap *snapshot) Metered {
	for _, n := range p.networks {
		at := slices.IndexFunc(snap.links, func(l linkMsg) bool { return l.name == n.Interface || n.Interface == "" && l.index == n.Index })
		if n.NetID == p.vpnID || n.Permission != android.PermissionNone || at < 0 {
			continue
		}
		if l := snap.links[at]; l.flags&unix.IFF_UP != 0 && !slices.Contains(kinds("cellular"), guessTech(l.name)) {
			return MeteredNo
		}
	}
	return MeteredCellular
}

// checkVPN warns of a link that leads past a VPN.
func (i *Info) checkVPN(p *phone) {
	if p.vpn == "" || i.Name == p.vpn {
		return
	}
	i.PastVPN = p.vpn
	i.problem(Note, "data over it goes past the VPN "+p.vpn+", which is up", "")
}

// network is the network that an interface belongs to.
func (p *phone) network(name string, index int) (android.Network, bool) {
	at := slices.IndexFunc(p.networks, func(n android.Network) bool {
		return n.Interface == name || n.Interface == "" && n.Index == index
	})
	if at < 0 {
		return android.Network{}, false
	}
	return p.networks[at], true
}

// inspectOnPhone finds what is to be known of an interface of an Android phone.
func (s System) inspectOnPhone(i *Info, snap *snapshot, bind func(name string) error) {
	p := snap.phone
	if tetheringName(i.Name) {
		i.Virtual = VirtualTethering
	}
	n, ok := p.network(i.Name, i.Index)
	if ok {
		i.Android = &AndroidNetwork{NetID: n.NetID, Permission: n.Permission.String(), netd: p.netd}
		i.findCLAT(snap, n.NetID)
		if p.noNames == nil {
			i.Resolvers = []Resolver{{Method: ResolverAndroid, Socket: p.resolver}}
		}
	}
	i.checkState()
	for k := range i.Problems {
		i.Problems[k].Fix = "" // commands of a desktop
	}
	running := i.worst(Fatal) == nil
	granted := p.access[n.NetID]
	switch {
	case !ok && p.uid != 0:
		if running {
			i.problem(Fatal, "Android has made no network of it that programs could choose", "")
		}
		return
	case !ok, p.uid == 0 && errors.Is(granted.err, android.ErrUnreachable): // root does without netd
		i.findDefaultRoutes(snap.fib)
		if ok && i.Android.CLAT != "" {
			i.Default4 = len(snap.fib.lookup(flow{family: unix.AF_INET, oif: indexOf(snap, i.Android.CLAT), name: i.Android.CLAT})) > 0
		}
		if running {
			i.checkRoutes(snap.fib, true)
			i.checkPhoneResolver(p.noNames)
		}
		i.checkBind(snap.fib, bind(i.Name))
		i.checkVPN(p)
		return
	case granted.err != nil:
		i.Problems = append(i.Problems, refusedByAndroid(granted.err, p.uid))
		return
	}
	i.Bind = BindNetwork
	if n.NetID == p.vpnID && p.onlyVPN() {
		i.Virtual, i.carried = VirtualNot, p.meteredUnderVPN(snap)
	}
	i.Default4 = len(snap.fib.lookup(flow{family: unix.AF_INET, mark: granted.mark})) > 0
	i.Default6 = len(snap.fib.lookup(flow{family: unix.AF_INET6, mark: granted.mark})) > 0
	if !running {
		return
	}
	if !i.Default4 && !i.Default6 {
		i.problem(Warning, "no default route leads through it: only its own network can be reached", "")
	}
	if n.Permission == android.PermissionSystem {
		i.problem(Warning, "Android keeps it for the system (calls, picture messages): it may lead nowhere", "")
	}
	i.checkPhoneResolver(p.noNames)
	i.checkVPN(p)
}

// checkPhoneResolver says why Android's resolver cannot be asked, if it cannot.
func (i *Info) checkPhoneResolver(noNames error) {
	if noNames != nil && !errors.Is(noNames, fs.ErrNotExist) {
		i.problem(Note, noNames.Error()+": only addresses and names of the hosts file work", "mlget --link "+shellWord(i.Name)+",dns=9.9.9.9")
		return
	}
	i.checkResolvers()
}

// findCLAT looks for the interface that carries the IPv4 of the link's network.
// The one whose IPv4 is carried is a link, the other one is a part of it.
func (i *Info) findCLAT(snap *snapshot, netID uint32) {
	for _, n := range snap.phone.networks {
		if n.NetID != netID {
			continue
		}
		at := slices.IndexFunc(snap.links, func(l linkMsg) bool { return l.name == n.Interface || n.Interface == "" && l.index == n.Index })
		if at < 0 {
			continue
		}
		switch other := snap.links[at]; {
		case i.Name == clatPrefix+other.name:
			i.Virtual = VirtualCLAT
		case other.name == clatPrefix+i.Name:
			i.Android.CLAT = other.name
			for _, a := range snap.addrsOf(other) {
				if a.Addr().Is4() {
					i.Android.CLATAddr = a.Addr()
				}
			}
			if !i.Android.CLATAddr.IsValid() {
				i.Android.CLAT = "" // not at work yet
			}
		}
	}
}

func indexOf(snap *snapshot, name string) int {
	for _, l := range snap.links {
		if l.name == name {
			return l.index
		}
	}
	return -1
}

// refusedByAndroid tells what stands between this process and a network, and
// the ways round it.
func refusedByAndroid(err error, uid uint32) Problem {
	p := Problem{What: err.Error(), Severity: Fatal}
	var refused *android.Refusal
	switch {
	case errors.As(err, &refused) && refused.Permission():
		p.Ways = android.WaysToCellular(uid)
	case errors.As(err, &refused) && refused.VPN():
		p.Ways = []string{"leave this program's app out of the VPN in the VPN's settings, or switch the VPN off"}
	case errors.Is(err, android.ErrUnreachable):
		p.What = "Android's " + strings.TrimSpace(err.Error())
		p.Ways = []string{"with root, mlget does without netd: su -c mlget ..."}
	}
	return p
}

// probeNetwork says whether this process may (still) use a network.
func probeNetwork(ctx context.Context, n AndroidNetwork) error {
	_, err := n.netd.Probe(ctx, n.NetID)
	return err
}
