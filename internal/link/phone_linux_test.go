package link

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/android/androidtest"
)

const (
	anApp   = 10123 // a user id of an app
	aShell  = 2000
	netWiFi = 100
	netLTE  = 101
)

// testPhone is a phone in this process's network namespace: wlan0 is the
// default network, rmnet0 is up in the background.
type testPhone struct {
	System
	netd      *androidtest.Netd
	providers []*provider
}

// newPhone makes one of an age. The process is uid towards netd, with the
// permission that goes with it.
func newPhone(t *testing.T, netd *androidtest.Netd, interfaces ...string) *testPhone {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("a mark takes root")
	}
	p := &testPhone{System: labSystem(t, ""), netd: netd}
	setRPFilter(t, "all", "0")
	netd.Networks = []androidtest.Network{
		{NetID: netWiFi, DNS: labDNS + ":53"},
		{NetID: netLTE, DNS: labDNS + ":53", Permission: android.PermissionNetwork, Users: netd.Networks[1].Users},
	}
	shape := make([]androidtest.Interface, 0, len(interfaces))
	for k, name := range interfaces {
		provider := newProvider(t, name, byte(k+1))
		setRPFilter(t, name, "0")
		provider.route(t, 0, 100+k)
		provider.route6(t, 100+k)
		p.providers = append(p.providers, provider)
		shape = append(shape, androidtest.Interface{Name: name, Network: netd.Networks[min(k, 1)]})
	}
	must(t, androidtest.Shape(netd, shape))
	for _, dir := range []string{"dev/__properties__", "dev/socket"} {
		must(t, os.MkdirAll(filepath.Join(p.Root, filepath.FromSlash(dir)), 0o755))
	}
	return p
}

// serve starts netd.
func (p *testPhone) serve(t *testing.T) {
	t.Helper()
	must(t, p.netd.Serve(android.FwmarkdPath(p.Root), android.ResolverPath(p.Root)))
	t.Cleanup(func() { must(t, p.netd.Close()) })
}

// as lists the links as a user sees them.
func (p *testPhone) as(t *testing.T, uid uint32) []Info {
	t.Helper()
	snap, err := takeSnapshot(t.Context())
	must(t, err)
	snap.fib.uid = uid
	for k := range snap.links {
		if snap.links[k].name == "tun0" { // that a veth plays
			snap.links[k].kind = "tun"
		}
	}
	snap.phone = p.askPhone(t.Context(), snap)
	return p.inspect(snap, tryBind)
}

func named(t *testing.T, infos []Info, name string) Info {
	t.Helper()
	at := slices.IndexFunc(infos, func(i Info) bool { return i.Name == name })
	if at < 0 {
		t.Fatalf("%s is not among %+v", name, infos)
	}
	return infos[at]
}

// wantOver connects and resolves over a link, and wants its provider to answer.
func (p *testPhone) wantOver(t *testing.T, i Info, provider *provider) {
	t.Helper()
	l := New(i, Spec{}, Options{ConnectTimeout: patience(true)})
	for _, host := range []string{labHost, labHost6, labName} {
		if who, err := answer(t.Context(), l, net.JoinHostPort(host, labPort)); err != nil || who != provider.name {
			t.Errorf("%s: %s answers %q, %v", i.Name, host, who, err)
		}
	}
	if addrs, err := l.lookup(t.Context(), labName, l.family); err != nil || !slices.Equal(addrs, []netip.Addr{provider.cdn}) {
		t.Errorf("%s: %s has %v, %v", i.Name, labName, addrs, err)
	}
}

// The callers that may use cellular beside Wi-Fi, on phones of all ages.
func TestPhoneCallers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uid      uint32
		has      android.Permission
		admitted []uint32
		secured  bool
		wifi     Method
		cellular Method
		why      string // of cellular
	}{
		"root":                  {0, android.PermissionSystem, nil, false, BindNetwork, BindNetwork, ""},
		"shell":                 {aShell, android.PermissionNetwork, nil, false, BindNetwork, BindNetwork, ""},
		"app":                   {anApp, android.PermissionNone, nil, false, BindNetwork, BindNone, "lacks the permission CHANGE_NETWORK_STATE"},
		"app with a preference": {anApp, android.PermissionNone, []uint32{0}, false, BindNetwork, BindNetwork, ""},
		"app under a VPN":       {anApp, android.PermissionNone, nil, true, BindNone, BindNone, "a VPN is up"},
	} {
		for _, sdk := range []int{26, 30, 35} {
			if c.admitted != nil && sdk < 31 {
				continue
			}
			t.Run(name+" "+strconv.Itoa(sdk), func(t *testing.T) {
				t.Parallel()
				if !ownNamespace(t) {
					return
				}
				netd := &androidtest.Netd{
					SDK: sdk, Users: map[uint32]android.Permission{0: c.has},
					Networks: []androidtest.Network{{}, {Users: c.admitted}},
				}
				if c.secured {
					netd.Secured = []uint32{0}
				}
				p := newPhone(t, netd, "wlan0", "rmnet0")
				p.serve(t)
				// The process is root to the kernel's rules as well, so the rules of
				// users are those of user 0.
				infos := p.as(t, c.uid)
				wifi, cellular := named(t, infos, "wlan0"), named(t, infos, "rmnet0")
				if wifi.Bind != c.wifi || cellular.Bind != c.cellular || wifi.Android.NetID != netWiFi || cellular.Android.NetID != netLTE {
					t.Fatalf("%+v\n%+v", wifi, cellular)
				}
				if c.why != "" {
					worst := cellular.worst(Fatal)
					if worst == nil || !strings.Contains(worst.What, c.why) || len(worst.Ways) == 0 {
						t.Errorf("cellular: %+v", worst)
					}
				}
				for k, i := range []Info{wifi, cellular} {
					if i.Usable() {
						if !i.Default4 && c.admitted == nil {
							t.Errorf("%s has no default route: %+v", i.Name, i)
						}
						p.wantOver(t, i, p.providers[k])
						continue
					}
					// Against all advice: not a byte, and an error that says why.
					i.Bind = BindNetwork
					_, err := answer(t.Context(), New(i, Spec{}, Options{ConnectTimeout: patience(true)}), labHost+":"+labPort)
					var refused *android.Refusal
					if !errors.Is(err, ErrBind) || !errors.As(err, &refused) {
						t.Errorf("%s: %v", i.Name, err)
					}
					_, err = New(i, Spec{}, Options{ConnectTimeout: patience(true)}).lookup(t.Context(), labName, FamilyAny)
					if err == nil {
						t.Errorf("%s: a name was resolved by another network", i.Name)
					}
				}
				for _, a := range netd.Asked() {
					if a.Resolver && a.Errno != 0 {
						t.Errorf("a query that another network answers: %+v", a)
					}
				}
			})
		}
	}
}

// Without netd an app has nothing, and root its devices.
func TestPhoneWithoutNetd(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	p := newPhone(t, &androidtest.Netd{SDK: 33, Networks: make([]androidtest.Network, 2)}, "wlan0", "rmnet0")
	for _, i := range p.as(t, anApp) {
		if i.Name != "lo" && (i.Usable() || !strings.Contains(i.worst(Fatal).What, "netd cannot be reached")) {
			t.Errorf("%+v", i)
		}
	}
	for k, name := range []string{"wlan0", "rmnet0"} {
		i := named(t, p.as(t, 0), name)
		if i.Bind != BindDevice || !i.Default4 || !i.Default6 || !i.Usable() {
			t.Fatalf("%+v", i)
		}
		l := New(i, Spec{DNS: netip.MustParseAddrPort(labDNS + ":53")}, Options{ConnectTimeout: patience(true)})
		if who, err := answer(t.Context(), l, labName+":"+labPort); err != nil || who != p.providers[k].name {
			t.Errorf("%s: %q, %v", name, who, err)
		}
	}
}

// Cellular with IPv6 only, whose IPv4 is translated by another interface.
func TestPhoneCLAT(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	netd := &androidtest.Netd{SDK: 34, Users: map[uint32]android.Permission{0: android.PermissionNetwork}, Networks: make([]androidtest.Network, 2)}
	p := newPhone(t, netd, "wlan0", "rmnet0", "v4-rmnet0")
	without := func(name string, v4 bool) {
		l, err := netlink.LinkByName(name)
		must(t, err)
		addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
		must(t, err)
		for _, a := range addrs {
			if (a.IP.To4() != nil) == v4 {
				must(t, netlink.AddrDel(l, &a))
			}
		}
	}
	without("rmnet0", true)
	without("v4-rmnet0", false)
	p.serve(t)
	for _, uid := range []uint32{aShell, 0} {
		infos := p.as(t, uid)
		i := named(t, infos, "rmnet0")
		if i.Android.CLAT != "v4-rmnet0" || i.Android.CLATAddr.String() != "10.3.0.2" || !i.Default4 || !i.Default6 {
			t.Fatalf("%+v, %+v", i, i.Android)
		}
		usable, _, err := Choose(infos, nil)
		if err != nil || len(usable) != 2 {
			t.Errorf("chosen: %+v, %v", usable, err)
		}
		l := New(i, Spec{}, Options{ConnectTimeout: patience(true)})
		for host, want := range map[string]string{labHost6: "rmnet0", labHost: "v4-rmnet0"} {
			if who, err := answer(t.Context(), l, net.JoinHostPort(host, labPort)); err != nil || who != want {
				t.Errorf("%s answers %q, %v", host, who, err)
			}
		}
		// The translator alone is IPv4.
		alone := New(named(t, infos, "v4-rmnet0"), Spec{}, Options{ConnectTimeout: patience(true)})
		if _, err := answer(t.Context(), alone, net.JoinHostPort(labHost6, labPort)); err == nil {
			t.Error("IPv6 over the translator")
		}
		if who, err := answer(t.Context(), alone, net.JoinHostPort(labHost, labPort)); err != nil || who != "v4-rmnet0" {
			t.Errorf("%q, %v", who, err)
		}
	}
	before := named(t, p.as(t, 0), "rmnet0")
	without("v4-rmnet0", true)
	after := named(t, p.as(t, 0), "rmnet0")
	if after.Android.CLAT != "" || after.Default4 || after.Since(before) != Moved {
		t.Errorf("without the translator: %+v, %d", after, after.Since(before))
	}
	if _, err := answer(t.Context(), New(after, Spec{}, Options{ConnectTimeout: patience(true)}), net.JoinHostPort(labHost, labPort)); err == nil {
		t.Error("IPv4 without a translator")
	}
}

// A right that is taken away while a download runs ends queries too.
func TestPhoneLosesPermission(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	may := map[uint32]android.Permission{0: android.PermissionNetwork}
	netd := &androidtest.Netd{SDK: 34, Users: may, Networks: make([]androidtest.Network, 2)}
	p := newPhone(t, netd, "wlan0", "rmnet0")
	p.serve(t)
	i := named(t, p.as(t, aShell), "rmnet0")
	l := New(i, Spec{}, Options{ConnectTimeout: patience(true)})
	if _, err := l.lookup(t.Context(), labName, l.family); err != nil {
		t.Fatal(err)
	}
	must(t, netd.Close())
	must(t, os.RemoveAll(android.FwmarkdPath(p.Root)))
	must(t, os.RemoveAll(android.ResolverPath(p.Root)))
	netd = &androidtest.Netd{SDK: 34, Users: map[uint32]android.Permission{0: android.PermissionNone}, Networks: netd.Networks}
	p.netd = netd
	p.serve(t)
	if addrs, err := l.askAll(t.Context(), labName, l.family); err == nil {
		t.Errorf("resolved to %v", addrs)
	}
	for _, a := range netd.Asked() {
		if a.Resolver {
			t.Errorf("asked %+v", a)
		}
	}
	if _, err := answer(t.Context(), l, labHost+":"+labPort); !errors.Is(err, ErrBind) {
		t.Error(err)
	}
}

// TestPhoneResolverSaysNo: what Android has decided about an app is not asked for
// again, and said in words; what a network lacks for now is.
func TestPhoneResolverSaysNo(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	netd := &androidtest.Netd{SDK: 34, Users: map[uint32]android.Permission{0: android.PermissionNetwork}, Networks: make([]androidtest.Network, 2)}
	p := newPhone(t, netd, "wlan0", "rmnet0")
	for code, c := range map[int]struct {
		says  string
		final bool
	}{
		11:  {"refuses this app's question", true},
		111: {"no name server of the network can be reached", false},
		3:   {"the network has no name servers", false},
		110: {"do not answer", false},
	} {
		netd.NoAnswer = map[uint32]int{0: code}
		must(t, netd.Serve(android.FwmarkdPath(p.Root), android.ResolverPath(p.Root)))
		l := New(named(t, p.as(t, aShell), "wlan0"), Spec{}, Options{ConnectTimeout: patience(true)})
		_, err := l.lookup(t.Context(), labName, FamilyAny)
		if err == nil || !strings.Contains(err.Error(), c.says) || isNotFound(err) != c.final {
			t.Errorf("%d: %v, final %v", code, err, isNotFound(err))
		}
		must(t, netd.Close())
		must(t, os.RemoveAll(android.FwmarkdPath(p.Root)))
		must(t, os.RemoveAll(android.ResolverPath(p.Root)))
	}
}

// TestPhoneTethering: interfaces to those that use the phone's network are no links.
func TestPhoneTethering(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	netd := &androidtest.Netd{SDK: 34, Networks: make([]androidtest.Network, 2)}
	p := newPhone(t, netd, "wlan0", "sipa_eth0")
	newProvider(t, "rndis0", 3)
	p.serve(t)
	infos := Apply(p.as(t, anApp), nil)
	usable, rejected, err := Choose(infos, []string{All})
	if err != nil || len(usable) != 2 || len(rejected) != 0 {
		t.Errorf("%+v, rejected %+v, %v", usable, rejected, err)
	}
	if i := named(t, infos, "rndis0"); i.Virtual != VirtualTethering || i.Metered != MeteredNo {
		t.Errorf("%+v", i)
	}
	if i := named(t, infos, "sipa_eth0"); i.Tech != TechLTE || i.Metered != MeteredCellular {
		t.Errorf("%+v", i)
	}
}

// TestPhoneVPN: an app bypasses a VPN that lets apps choose, and is told so; only the system's
// rights bypass one that does not.
func TestPhoneVPN(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has    android.Permission
		secure bool
		passes bool
	}{
		"app, bypassable":   {android.PermissionNone, false, true},
		"app, secure":       {android.PermissionNone, true, false},
		"shell, bypassable": {android.PermissionNetwork, false, true},
		"shell, secure":     {android.PermissionNetwork, true, false},
		"root, secure":      {android.PermissionSystem, true, true},
	} {
		for _, sdk := range []int{30, 32, 34} {
			t.Run(name+" "+strconv.Itoa(sdk), func(t *testing.T) {
				t.Parallel()
				if !ownNamespace(t) {
					return
				}
				tun := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun0"}, Mode: unix.IFF_TUN}
				if err := netlink.LinkAdd(tun); err != nil {
					t.Skipf("no TUN device: %v", err)
				}
				must(t, netlink.LinkSetUp(tun))
				netd := &androidtest.Netd{
					SDK: sdk, Users: map[uint32]android.Permission{0: c.has}, Networks: make([]androidtest.Network, 2), VPN: "tun0",
				}
				if c.secure {
					netd.Secured = []uint32{0}
				} else {
					netd.Bypassing = []uint32{0}
				}
				p := newPhone(t, netd, "wlan0", "rmnet0")
				p.serve(t)
				i := named(t, p.as(t, 0), "wlan0") // the rules of users are the kernel's, whose user is 0
				if i.Usable() != c.passes || (i.PastVPN == "tun0") != c.passes {
					t.Fatalf("%+v", i)
				}
				if c.passes {
					p.wantOver(t, i, p.providers[0])
				}
			})
		}
	}
}

// TestPhoneUnderVPN: whoever Android lets use a VPN and nothing else downloads over the
// VPN, by itself, as every other program does. With Wi-Fi gone it costs money.
func TestPhoneUnderVPN(t *testing.T) {
	t.Parallel()
	for _, sdk := range []int{26, 30, 32, 35} {
		t.Run(strconv.Itoa(sdk), func(t *testing.T) {
			t.Parallel()
			if !ownNamespace(t) {
				return
			}
			vpn := newProvider(t, "tun0", 3)
			setRPFilter(t, "tun0", "0")
			vpn.route(t, 0, 300)
			vpn.route6(t, 300)
			netd := &androidtest.Netd{
				SDK: sdk, Users: map[uint32]android.Permission{0: android.PermissionNone}, Networks: make([]androidtest.Network, 2),
				VPN: "tun0", VPNID: 102, Secured: []uint32{0},
			}
			p := newPhone(t, netd, "wlan0", "rmnet0")
			p.serve(t)
			infos := Apply(p.as(t, 0), nil) // the rules of users are the kernel's, whose user is 0
			usable, _, err := Choose(infos, nil)
			if err != nil || len(usable) != 1 || usable[0].Name != "tun0" || usable[0].Bind != BindNetwork || usable[0].Metered != MeteredNo {
				t.Fatalf("%+v, %v", usable, err)
			}
			l := New(usable[0], Spec{}, Options{ConnectTimeout: patience(true)})
			for _, host := range []string{labHost, labHost6, labName} {
				if who, err := answer(t.Context(), l, net.JoinHostPort(host, labPort)); err != nil || who != "tun0" {
					t.Errorf("%s: %q answers, %v", host, who, err)
				}
			}
			wifi, err := netlink.LinkByName("wlan0")
			must(t, err)
			must(t, netlink.LinkSetDown(wifi))
			infos = Apply(p.as(t, 0), nil)
			if i := named(t, infos, "tun0"); i.Metered != MeteredCellular || len(Choosable(infos, nil)) != 0 {
				t.Errorf("without Wi-Fi: %+v, %+v", i, Choosable(infos, nil))
			}
		})
	}
}
