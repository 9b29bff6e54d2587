package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The table of LINKS-AND-ANDROID.md, as it is found and as it is: wlan0 has
// metric 100, rmnet0 is the link that is looked at.
func TestBindingTable(t *testing.T) {
	for number, c := range []struct {
		rpFilter    string
		route       bool // a default route in the main table, metric 600
		rule        bool // ip rule from rmnet0's address lookup 102, and a default route there
		works       bool // SO_BINDTODEVICE
		sourceWorks bool // binding rmnet0's source address instead
		severity    Severity
	}{
		{"0", false, false, false, false, Warning},
		{"2", false, false, false, false, Warning},
		{"0", true, false, true, false, ""},
		{"2", true, false, true, false, ""},
		{"1", true, false, false, false, Fatal},
		{"1", true, true, true, true, ""},
		{"1", false, true, true, true, ""},
	} {
		// One process for each row, for rows leave routes behind.
		t.Run(strconv.Itoa(number), func(t *testing.T) {
			t.Parallel()
			if !ownNamespace(t) {
				return
			}
			wlan, rmnet := newProvider(t, "wlan0", 1), newProvider(t, "rmnet0", 2)
			wlan.route(t, 0, 100)
			if c.route {
				rmnet.route(t, 0, 600)
			}
			if c.rule {
				rmnet.route(t, 102, 0)
				rmnet.sourceRule(t, 102)
			}
			setRPFilter(t, "all", "0")
			setRPFilter(t, "rmnet0", c.rpFilter)

			s := labSystem(t, "nameserver "+labDNS)
			i := s.find(t, "rmnet0")
			var got Severity
			if len(i.Problems) > 0 {
				got = i.Problems[0].Severity
			}
			if got != c.severity || i.Bind != BindDevice || strconv.Itoa(i.RPFilter) != c.rpFilter {
				t.Errorf("%+v, want severity %q", i, c.severity)
			}
			who, err := answer(t.Context(), New(i, Spec{}, Options{ConnectTimeout: patience(c.works)}), labHost+":"+labPort)
			if c.works != (err == nil) || c.works && who != "rmnet0" {
				t.Errorf("bound to the device: %q, %v", who, err)
			}
			var timeout net.Error
			silent := errors.As(err, &timeout) && timeout.Timeout()
			if !c.works && !silent && !errors.Is(err, unix.EHOSTUNREACH) {
				t.Errorf("bound to the device: %v", err)
			}
			// By source address: as found when binding is refused...
			snap, err := takeSnapshot(t.Context())
			must(t, err)
			for _, i := range s.inspect(snap, func(string) error { return unix.EPERM }) {
				if i.Name != "rmnet0" {
					continue
				}
				if c.sourceWorks != i.Usable() || c.sourceWorks != (i.Bind == BindAddress) {
					t.Errorf("binding refused: %+v", i)
				}
				if !i.Usable() {
					break
				}
				who, err := answer(t.Context(), New(i, Spec{}, Options{ConnectTimeout: patience(true)}), labHost+":"+labPort)
				if err != nil || who != "rmnet0" {
					t.Errorf("bound to the address: %q, %v", who, err)
				}
			}
			// ... and as it is.
			d := net.Dialer{Timeout: patience(c.sourceWorks), LocalAddr: &net.TCPAddr{IP: net.IPv4(10, 2, 0, 2)}}
			conn, err := d.DialContext(t.Context(), "tcp", labHost+":"+labPort)
			if err == nil {
				b := make([]byte, 16)
				n, _ := conn.Read(b)
				_ = conn.Close()
				who = string(b[:n])
			}
			if c.sourceWorks != (err == nil && who == "rmnet0") {
				t.Errorf("plain socket with the source address: %q, %v", who, err)
			}
		})
	}
}

// Each link asks its own provider, and goes where that says.
func TestTwoLinks(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	providers := []*provider{newProvider(t, "wlan0", 1), newProvider(t, "rmnet0", 2)}
	for k, p := range providers {
		p.route(t, 0, 100+k*500)
		p.route6(t, 100+k*500)
	}
	s := labSystem(t, "nameserver "+labDNS)
	infos, err := s.List(t.Context())
	must(t, err)
	usable, rejected, err := Choose(infos, []string{All})
	if err != nil || len(usable) != 2 || len(rejected) != 0 {
		t.Fatalf("chosen %+v, rejected %+v, %v", usable, rejected, err)
	}
	var table strings.Builder
	must(t, WriteTable(&table, infos))
	t.Log("\n" + table.String())
	for k, p := range providers {
		i := usable[k]
		if i.Name != p.name || !i.Default4 || !i.Default6 || i.Source4.IsValid() {
			t.Errorf("%+v", i)
		}
		l := New(i, Spec{}, Options{ConnectTimeout: 20 * time.Second})
		addrs, err := l.lookup(t.Context(), labName, l.family)
		if err != nil || fmt.Sprint(addrs) != fmt.Sprint([]netip.Addr{p.cdn}) {
			t.Errorf("%s: %s has addresses %v, %v", p.name, labName, addrs, err)
		}
		for _, host := range []string{labName, labHost, labHost6} {
			if who, err := answer(t.Context(), l, net.JoinHostPort(host, labPort)); err != nil || who != p.name {
				t.Errorf("%s: %s answers %q, %v", p.name, host, who, err)
			}
		}
		_, err = l.DialContext(t.Context(), "tcp", "none.mlget-test:80")
		var dns *net.DNSError
		if !errors.As(err, &dns) || !dns.IsNotFound || !strings.HasPrefix(err.Error(), "link "+p.name) {
			t.Errorf("%s: a name that does not exist: %v", p.name, err)
		}
		// Of several addresses the first one that answers is taken.
		to := netip.MustParseAddrPort(net.JoinHostPort(labHost, labPort))
		conn, err := l.connect(t.Context(), []netip.Addr{netip.MustParseAddr("203.0.113.250"), to.Addr()}, to.Port())
		if err != nil {
			t.Errorf("%s: the second address: %v", p.name, err)
		} else if who, err := io.ReadAll(conn); err != nil || string(who) != p.name || conn.Close() != nil {
			t.Errorf("%s: the second address: %q, %v", p.name, who, err)
		}
		// A name server that does not answer does not stop the one that does.
		given := New(i, Spec{DNS: netip.MustParseAddrPort(labDNS + ":53")}, Options{Family: FamilyIPv4, ConnectTimeout: 20 * time.Second})
		if got := fmt.Sprint(given.Info().Resolvers); got != "["+labDNS+" (given)]" {
			t.Errorf("%s: resolvers %s", p.name, got)
		}
		if addrs, err := given.lookup(t.Context(), labName, given.family); err != nil || len(addrs) != 1 || addrs[0] != p.cdn {
			t.Errorf("%s: dns= gives %v, %v", p.name, addrs, err)
		}
	}
	// The server of a link alone, while another one is silent.
	i := usable[1]
	i.Resolvers = []Resolver{{Method: ResolverResolvConf, Servers: []netip.AddrPort{
		netip.MustParseAddrPort("203.0.113.251:53"), netip.MustParseAddrPort(labDNS + ":53"),
	}}}
	if addrs, err := New(i, Spec{}, Options{}).lookup(t.Context(), labName, FamilyAny); err != nil || len(addrs) != 1 || addrs[0] != providers[1].cdn {
		t.Errorf("with a silent server: %v, %v", addrs, err)
	}
}

// A stub on this machine is asked unbound, and nothing else is.
func TestSystemResolver(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	lo, err := netlink.LinkByName("lo")
	must(t, err)
	must(t, netlink.LinkSetUp(lo))
	p := newProvider(t, "wlan0", 1)
	p.route(t, 0, 100)
	serveDNS(t, "127.0.0.53:53", p.cdn)
	i := labSystem(t, "nameserver 127.0.0.53").find(t, "wlan0")
	if len(i.Problems) != 1 || i.Problems[0].Severity != Note || !strings.Contains(i.Problems[0].What, "may use another link") {
		t.Errorf("problems %+v", i.Problems)
	}
	l := New(i, Spec{}, Options{ConnectTimeout: 20 * time.Second})
	if who, err := answer(t.Context(), l, labName+":"+labPort); err != nil || who != "wlan0" {
		t.Errorf("%q, %v", who, err)
	}
	// The same server, but as one of the link's own: no way to it.
	bound := New(i, Spec{DNS: netip.MustParseAddrPort("127.0.0.53:53")}, Options{ConnectTimeout: 20 * time.Second})
	if addrs, err := bound.lookup(t.Context(), labName, bound.family); err == nil {
		t.Errorf("a bound socket reached the loopback: %v", addrs)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	if !ownNamespace(t) {
		return
	}
	p := newProvider(t, "wlan0", 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	changes, err := Watch(ctx)
	must(t, err)
	await := func(want Change) {
		t.Helper()
		for {
			select {
			case c, ok := <-changes:
				if !ok {
					t.Fatalf("closed before %+v", want)
				}
				if c == want {
					return
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("no %+v", want)
			}
		}
	}
	l, err := netlink.LinkByName("wlan0")
	must(t, err)
	p.route(t, 0, 100)
	await(Change{Kind: ChangeRoute, Index: p.index, Name: "wlan0"})
	must(t, netlink.RouteDel(&netlink.Route{LinkIndex: p.index, Gw: p.gateway, Priority: 100}))
	await(Change{Kind: ChangeRoute, Index: p.index, Name: "wlan0", Gone: true})
	addAddr(t, l, "10.1.0.77/24")
	await(Change{Kind: ChangeAddress, Index: p.index, Name: "wlan0"})
	must(t, netlink.LinkSetDown(l))
	await(Change{Kind: ChangeLink, Index: p.index, Name: "wlan0", Gone: true})
	must(t, netlink.LinkSetUp(l))
	await(Change{Kind: ChangeLink, Index: p.index, Name: "wlan0"})
	must(t, netlink.LinkDel(l))
	await(Change{Kind: ChangeLink, Index: p.index, Name: "wlan0", Gone: true})
	second := newProvider(t, "rmnet0", 2)
	await(Change{Kind: ChangeLink, Index: second.index, Name: "rmnet0"})

	// A reader that lags learns that it has missed something.
	r, err := netlink.LinkByName("rmnet0")
	must(t, err)
	for range 3000 {
		must(t, netlink.LinkSetAlias(r, "a"))
	}
	await(Change{Kind: ChangeUnknown})
	cancel()
	for range changes { //nolint:revive // until it is closed
	}
}
