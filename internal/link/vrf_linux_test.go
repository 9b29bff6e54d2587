package link

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A VRF as the kernel tells of it (if_link.h, fib_rules.h): a device with a table, those that
// belong to it by their master, and one rule for all VRFs.
func TestParseVRF(t *testing.T) {
	header := func(index uint32) []byte { return slices.Concat([]byte{0, 0, 0, 0}, u32(index), u32(linkUp), u32(0)) }
	table := attr(unix.IFLA_INFO_DATA, attr(unix.IFLA_VRF_TABLE, u32(77)...)...)
	blue, ok := parseLink(slices.Concat(header(7), attr(unix.IFLA_IFNAME, []byte("blue\x00")...),
		attr(unix.IFLA_LINKINFO, slices.Concat(table, attr(unix.IFLA_INFO_KIND, []byte("vrf\x00")...))...)))
	if want := (linkMsg{index: 7, flags: linkUp, name: "blue", kind: "vrf", table: 77}); !ok || blue != want {
		t.Errorf("%+v, want %+v", blue, want)
	}
	part, ok := parseLink(slices.Concat(header(3), attr(unix.IFLA_IFNAME, []byte("eth0\x00")...), attr(unix.IFLA_MASTER, u32(7)...)))
	if !ok || part.master != 7 || part.table != 0 {
		t.Errorf("%+v", part)
	}
	// A bridge's attribute of that number is no table.
	bridge, ok := parseLink(slices.Concat(header(8), attr(unix.IFLA_IFNAME, []byte("br0\x00")...),
		attr(unix.IFLA_LINKINFO, slices.Concat(attr(unix.IFLA_INFO_KIND, []byte("bridge\x00")...), table)...)))
	if !ok || bridge.table != 0 {
		t.Errorf("%+v", bridge)
	}
	body := append([]byte{unix.AF_INET, 0, 0, 0, 0, 0, 0, unix.FR_ACT_TO_TBL}, u32(0)...)
	for value, want := range map[byte]bool{0: false, 1: true} {
		if r, ok := parseRule(slices.Concat(body, attr(unix.FRA_L3MDEV, value))); !ok || r.l3mdev != want || r.other {
			t.Errorf("%d: %+v", value, r)
		}
	}
}

// TestVRFIsALink: by the VRF's name, and by that of a device within, the way leads by the
// VRF's routes; the machine's other routes are not theirs, nor the other way round.
func TestVRFIsALink(t *testing.T) {
	snap := twoLinks()
	snap.links[0].master = 7 // rmnet0
	snap.links = append(snap.links, linkMsg{index: 7, flags: linkUp, name: "blue", kind: "vrf", table: 77})
	l3mdev := ruleTo(0)
	l3mdev.l3mdev, l3mdev.priority = true, 1000
	gateway := netip.MustParseAddr("10.2.0.1")
	inside := defaultVia(77, 0, 4)
	inside.gateway = gateway
	snap.fib = newFib(append(usualRules(), l3mdev), []routeMsg{defaultVia(unix.RT_TABLE_MAIN, 100, 3), inside}, 1000)
	snap.fib.vrfs = vrfsOf(snap.links)
	infos := tree(t, rpFiles("1", "1")).inspect(snap, func(string) error { return nil })
	for name, want := range map[string]Virtual{"blue": VirtualVRF, "rmnet0": VirtualNot, "wlan0": VirtualNot} {
		at := slices.IndexFunc(infos, func(i Info) bool { return i.Name == name })
		i := infos[at]
		if i.Virtual != want || !i.Default4 || !i.Usable() || len(i.Problems) > 0 || len(i.Addrs) != 1 || i.Main != (name == "wlan0") {
			t.Errorf("%+v", i)
		}
		if byGateway := slices.Contains(i.routers, router{gateway: gateway}); byGateway != (name != "wlan0") {
			t.Errorf("%s has the routers %+v", name, i.routers)
		}
	}
	usable, _ := choose(infos, []string{All})
	if len(usable) != 2 {
		t.Errorf("%+v", usable) // the VRF carries nothing of its own
	}
	if usable, _ = choose(infos, []string{"blue"}); len(usable) != 1 {
		t.Errorf("%+v", usable)
	}
	// Without a route in the VRF a device in it leads nowhere, though the machine has one.
	snap.fib = newFib(append(usualRules(), l3mdev), []routeMsg{defaultVia(unix.RT_TABLE_MAIN, 100, 3)}, 1000)
	snap.fib.vrfs = vrfsOf(snap.links)
	for _, i := range tree(t, rpFiles("0", "0")).inspect(snap, func(string) error { return nil }) {
		if i.Name == "rmnet0" && (i.Default4 || i.worst(Warning) == nil) {
			t.Errorf("%+v", i)
		}
	}
}
