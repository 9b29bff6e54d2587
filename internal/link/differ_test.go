package link

import (
	"net/netip"
	"testing"
)

func TestSince(t *testing.T) {
	home := Info{
		Name: "wlan0", Index: 3, Up: true, Carrier: true, Default4: true, Bind: BindDevice,
		Addrs:     []netip.Prefix{netip.MustParsePrefix("10.1.0.2/24"), netip.MustParsePrefix("fe80::1/64")},
		Resolvers: []Resolver{{Method: ResolverGiven, Servers: []netip.AddrPort{netip.MustParseAddrPort("10.1.0.1:53")}}},
	}
	for _, tc := range []struct {
		name   string
		change func(*Info)
		want   Difference
	}{
		{"nothing", func(*Info) {}, Same},
		{"a problem of no consequence", func(i *Info) { i.problem(Note, "x", "") }, Same},
		{"one address more", func(i *Info) { i.Addrs = append(i.Addrs[:2:2], netip.MustParsePrefix("2001:db8::2/64")) }, Changed},
		{"another link-local address", func(i *Info) { i.Addrs = []netip.Prefix{i.Addrs[0], netip.MustParsePrefix("fe80::2/64")} }, Changed},
		{"a route", func(i *Info) { i.Default6 = true }, Changed},
		{"no route", func(i *Info) { i.Default4 = false }, Changed},
		{"a name server", func(i *Info) { i.Resolvers = nil }, Changed},
		{"a source address to bind beside the device", func(i *Info) { i.Source4 = netip.MustParseAddr("10.1.0.2") }, Changed},
		{"another prefix length of the same address", func(i *Info) { i.Addrs = []netip.Prefix{netip.MustParsePrefix("10.1.0.2/16"), i.Addrs[1]} }, Changed},
		{"another address", func(i *Info) { i.Addrs = []netip.Prefix{netip.MustParsePrefix("10.1.0.3/24")} }, Moved},
		{"no address", func(i *Info) { i.Addrs = nil }, Moved},
		{"another device", func(i *Info) { i.Index = 4 }, Moved},
		{"another way to bind", func(i *Info) { i.Bind = BindAddress }, Moved},
	} {
		now := home
		tc.change(&now)
		if got := now.Since(home); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	bound := home
	bound.Bind, bound.Source4 = BindAddress, netip.MustParseAddr("10.1.0.2")
	other := bound
	other.Source4 = netip.Addr{}
	if got := other.Since(bound); got != Moved {
		t.Errorf("bound to an address that does not lead to it any more: %d", got)
	}
}
