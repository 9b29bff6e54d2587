package link

import (
	"context"
	"net/netip"
	"strings"
	"sync"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/networkmanager"
)

// Tech is the technology of a link, as far as it is known.
type Tech string

// The technologies of links.
const (
	TechUnknown  Tech = ""
	TechWiFi     Tech = "wifi"
	TechLTE      Tech = "lte"
	TechNR       Tech = "nr"
	Tech3G       Tech = "3g"
	TechEthernet Tech = "ethernet"
)

// Method is how a socket is tied to a link. The words are the report's.
type Method string

// The ways to tie a socket to a link.
const (
	BindNone    Method = ""        // cannot be done
	BindDevice  Method = "device"  // SO_BINDTODEVICE
	BindAddress Method = "address" // the link's source address, where routing by source leads to the link
	BindIndex   Method = "index"   // IP_BOUND_IF, IP_UNICAST_IF
	// BindNetwork: Android's netd ties the socket to the link's network.
	BindNetwork Method = "android-network"
)

// Virtual says why a link is none that leads anywhere by itself; "" is a link
// that does. Automatic choice leaves virtual links out.
type Virtual string

// The reasons to leave a link out of an automatic choice.
const (
	VirtualNot       Virtual = ""
	VirtualLoopback  Virtual = "loopback"
	VirtualBridge    Virtual = "bridge"
	VirtualVPN       Virtual = "VPN or tunnel"
	VirtualContainer Virtual = "container or virtual machine"
	VirtualDummy     Virtual = "dummy"
	VirtualVRF       Virtual = "virtual router"       // VRF
	VirtualCLAT      Virtual = "IPv4 of another link" // 464XLAT: that link carries it
	VirtualTethering Virtual = "to devices that use this phone's network"
)

// Severity is how much a Problem matters.
type Severity string

// The severities.
const (
	Note    Severity = "note"    // worth knowing; nothing is lost
	Warning Severity = "warning" // may well not work: taken only where the link is named
	Fatal   Severity = "fatal"   // does not work
)

// Problem is something about a link that its user should know.
type Problem struct {
	What     string   `json:"what"`
	Fix      string   `json:"fix,omitempty"` // the command that mends it, ready for a shell
	Severity Severity `json:"severity"`
	// Ways are other ways out, a line each, where no one command mends it here.
	Ways []string `json:"ways,omitempty"`
}

// ResolverMethod is how names are resolved.
type ResolverMethod string

// The ways to resolve names, in the order in which they are tried.
const (
	ResolverGiven      ResolverMethod = "given"            // by the user
	ResolverResolved   ResolverMethod = "systemd-resolved" // asked over Varlink for this link's answer
	ResolverAndroid    ResolverMethod = "android"          // asked of Android for the link's network; honours Private DNS
	ResolverNetworkd   ResolverMethod = "systemd-networkd" // the servers of the link's lease
	ResolverAdapter    ResolverMethod = "adapter"          // the servers that Windows has for the link
	ResolverResolvConf ResolverMethod = "resolv.conf"      // the machine's servers, asked over this link
	ResolverSystem     ResolverMethod = "system"           // a server on this machine, asked unbound
)

// Resolver is one source of answers to name queries.
type Resolver struct {
	Method  ResolverMethod   `json:"method"`
	Servers []netip.AddrPort `json:"servers,omitempty"`
	Socket  string           `json:"socket,omitempty"` // path of systemd-resolved's Varlink socket, or of Android's resolver
}

// String describes r for people.
func (r Resolver) String() string {
	if r.Method == ResolverSystem {
		return "through the system's resolver, which may use another link"
	}
	if len(r.Servers) == 0 {
		return string(r.Method)
	}
	var b strings.Builder
	for i, server := range r.Servers {
		if i > 0 {
			b.WriteString(", ")
		}
		if server.Port() == dnsPort {
			b.WriteString(server.Addr().String())
		} else {
			b.WriteString(server.String())
		}
	}
	return b.String() + " (" + string(r.Method) + ")"
}

// Info holds the facts of an interface.
type Info struct {
	Name     string         `json:"name"` // raw; escape it before it goes to a terminal
	Index    int            `json:"index"`
	Up       bool           `json:"up"`
	Carrier  bool           `json:"carrier"`
	Addrs    []netip.Prefix `json:"addresses"`
	Default4 bool           `json:"default_route_v4"` // a socket bound to the link has a default route
	Default6 bool           `json:"default_route_v6"`
	// Source4 and Source6, where valid, are bound as well, because the default
	// route applies to packets from that address only ("ip rule from ...").
	Source4 netip.Addr `json:"source_v4,omitzero"`
	Source6 netip.Addr `json:"source_v6,omitzero"`
	// RPFilter is the effective reverse path filter, max(conf.all, conf.IF):
	// 0 off, 1 strict, 2 loose; -1 where there is none to read.
	RPFilter  int        `json:"rp_filter"`
	Bind      Method     `json:"bind"`
	Resolvers []Resolver `json:"resolvers"` // in the order in which they are asked
	Tech      Tech       `json:"tech"`
	Virtual   Virtual    `json:"virtual,omitempty"`
	// Metered says why data over the link may cost money: automatic choice leaves it
	// out then, unless there is no other.
	Metered Metered `json:"metered"`
	// PastVPN is the VPN that data over the link goes past, on a phone; "": none.
	PastVPN string `json:"past_vpn,omitempty"`
	// Main says that sockets which are bound to nothing go out by this link.
	Main bool `json:"main"`
	// Android is the network that Android has made of the link; nil elsewhere.
	Android  *AndroidNetwork `json:"android,omitempty"`
	Problems []Problem       `json:"problems"`

	managed  networkmanager.Metered
	tethered bool    // its driver serves phones on a cable only
	refused  bool    // by its user: a plan, hours
	carried  Metered // of a VPN that is the only way: why what carries it may cost money
	routers  []router
	mark     uint32 // that its sockets get; 0: none
}

// router is where a default route of an interface leads, for packets from an address.
type router struct {
	source  netip.Addr // not valid: that the kernel chooses
	gateway netip.Addr
}

// AndroidNetwork is a network as Android knows it.
type AndroidNetwork struct {
	NetID      uint32 `json:"net_id"`
	Permission string `json:"permission"` // what choosing it requires; "none": nothing
	netd       *android.Fwmarkd
	// CLAT is the interface that carries the network's IPv4 (464XLAT), "" where
	// the link does so itself; CLATAddr is its address.
	CLAT     string     `json:"clat,omitempty"`
	CLATAddr netip.Addr `json:"clat_address,omitzero"`
}

// Usable says whether connections can be made over the link, as far as it can
// be told without sending anything.
func (i Info) Usable() bool { return i.Bind != BindNone && i.worst(Fatal) == nil }

// worst is the first problem of the given severity, or nil.
func (i Info) worst(s Severity) *Problem {
	for k := range i.Problems {
		if i.Problems[k].Severity == s {
			return &i.Problems[k]
		}
	}
	return nil
}

// Refuse says that its user does not want the link used now, why, and how to change that.
func (i *Info) Refuse(why, fix string) {
	i.refused = true
	i.problem(Fatal, why, fix)
}

func (i *Info) problem(s Severity, what, fix string) {
	i.Problems = append(i.Problems, Problem{What: what, Fix: fix, Severity: s})
}

// has says which address families the link has an address of that reaches
// beyond it, and that its sockets can be bound for. An Info without addresses
// (made by hand) is taken to have both.
func (i Info) has() (v4, v6 bool) {
	if i.Bind == BindAddress {
		return i.Source4.IsValid(), i.Source6.IsValid()
	}
	if len(i.Addrs) == 0 {
		return true, true
	}
	v4 = i.Android != nil && i.Android.CLAT != ""
	for _, p := range i.Addrs {
		switch a := p.Addr(); {
		case a.Is4():
			v4 = true
		case !a.IsLinkLocalUnicast():
			v6 = true
		}
	}
	return v4, v6
}

// System is where the operating system shows itself. The zero value is the
// real one; tests give trees of fixtures.
type System struct {
	Root   string // prefix of /proc, /sys, /run, /etc and /dev; "" is the real root
	memory *memory
}

// memory holds facts from earlier looks at a system.
type memory struct {
	netd *android.Fwmarkd

	mu      sync.Mutex
	metered map[string]networkmanager.Metered // what NetworkManager said last, by interface
}

// NewSystem returns the system below root that remembers between looks what need not, or
// cannot, be asked again. The zero System asks each time.
func NewSystem(root string) System {
	return System{Root: root, memory: &memory{netd: android.NewFwmarkd(android.FwmarkdPath(root))}}
}

// List finds every interface and checks it, in the order of their indexes.
// It sends nothing. An error means that interfaces could not be listed at all.
func List(ctx context.Context) ([]Info, error) { return System{}.List(ctx) }
