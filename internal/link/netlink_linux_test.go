package link

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// attr builds a netlink attribute, padding included.
func attr(kind uint16, value ...byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, align4(len(b))-len(b))...)
}

func u32(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

func TestParseLink(t *testing.T) {
	header := slices.Concat([]byte{0, 0, 0, 0}, u32(7), u32(unix.IFF_UP|unix.IFF_LOWER_UP), u32(0))
	info := slices.Concat(attr(99, 1, 2, 3), attr(unix.IFLA_INFO_KIND, []byte("veth\x00")...))
	body := slices.Concat(header, attr(unix.IFLA_IFNAME, []byte("wlan0\x00")...),
		attr(unix.IFLA_LINKINFO|unix.NLA_F_NESTED, info...))
	got, ok := parseLink(body)
	if want := (linkMsg{index: 7, flags: unix.IFF_UP | unix.IFF_LOWER_UP, name: "wlan0", kind: "veth"}); !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	for n := range body {
		// Cut anywhere: no panic, and no name out of thin air.
		if got, ok := parseLink(body[:n]); ok && got.name != "wlan0" {
			t.Errorf("%d bytes: %+v", n, got)
		}
	}
	for name, body := range map[string][]byte{
		"no name": header, "no index": slices.Concat(make([]byte, 16), attr(unix.IFLA_IFNAME, 'a', 0)),
		"attribute beyond the end": slices.Concat(header, []byte{255, 0, 3, 0, 'a', 0}),
		"attribute too short":      slices.Concat(header, []byte{3, 0, 3, 0, 'a', 0}),
	} {
		if got, ok := parseLink(body); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseAddr(t *testing.T) {
	body := slices.Concat([]byte{unix.AF_INET, 24, 0x80, 0}, u32(3),
		attr(unix.IFA_ADDRESS, 10, 0, 0, 1), attr(unix.IFA_LOCAL, 10, 0, 0, 2), attr(unix.IFA_FLAGS, u32(0x280)...))
	got, ok := parseAddr(body)
	if want := (addrMsg{index: 3, prefix: netip.MustParsePrefix("10.0.0.2/24"), flags: 0x280}); !ok || got != want {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	for name, body := range map[string][]byte{
		"no address":          {unix.AF_INET, 24, 0, 0, 3, 0, 0, 0},
		"address too short":   slices.Concat([]byte{unix.AF_INET, 24, 0, 0}, u32(3), attr(unix.IFA_LOCAL, 10, 0, 0)),
		"prefix too long":     slices.Concat([]byte{unix.AF_INET, 33, 0, 0}, u32(3), attr(unix.IFA_LOCAL, 10, 0, 0, 2)),
		"another family":      slices.Concat([]byte{unix.AF_DECnet, 24, 0, 0}, u32(3), attr(unix.IFA_LOCAL, 10, 0, 0, 2)),
		"header is cut short": {unix.AF_INET, 24, 0, 0},
	} {
		if got, ok := parseAddr(body); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestParseRoute(t *testing.T) {
	header := func(srcLen byte, flags uint32) []byte {
		return append([]byte{unix.AF_INET, 0, srcLen, 0, unix.RT_TABLE_MAIN, 0, 0, unix.RTN_UNICAST}, u32(flags)...)
	}
	hop := func(dev uint32, flags byte) []byte { return slices.Concat([]byte{8, 0, flags, 0}, u32(dev)) }
	for name, c := range map[string]struct {
		body []byte
		want string
	}{
		"one hop": {
			slices.Concat(header(0, 0), attr(unix.RTA_OIF, u32(3)...), attr(unix.RTA_PRIORITY, u32(600)...), attr(unix.RTA_TABLE, u32(1003)...)),
			"{family:2 dstLen:0 kind:1 table:1003 metric:600 devs:[3]}",
		},
		"by a gateway": {
			slices.Concat(header(0, 0), attr(unix.RTA_OIF, u32(3)...), attr(unix.RTA_GATEWAY, 192, 0, 2, 1)),
			"{family:2 dstLen:0 kind:1 table:254 metric:0 devs:[3]} by 192.0.2.1",
		},
		"a gateway is cut short": {
			slices.Concat(header(0, 0), attr(unix.RTA_OIF, u32(3)...), attr(unix.RTA_GATEWAY, 192, 0, 2)),
			"{family:2 dstLen:0 kind:1 table:254 metric:0 devs:[3]}",
		},
		"several": {
			slices.Concat(header(0, 0), attr(unix.RTA_MULTIPATH, slices.Concat(hop(3, 0), hop(4, unix.RTNH_F_DEAD), hop(5, 0))...)),
			"{family:2 dstLen:0 kind:1 table:254 metric:0 devs:[3 5]}",
		},
		"a hop is cut short": {
			slices.Concat(header(0, 0), attr(unix.RTA_MULTIPATH, slices.Concat(hop(3, 0), []byte{9, 0, 0, 0, 4, 0, 0, 0})...)),
			"{family:2 dstLen:0 kind:1 table:254 metric:0 devs:[3]}",
		},
		"a hop without length": {
			slices.Concat(header(0, 0), attr(unix.RTA_MULTIPATH, make([]byte, 64)...)),
			"{family:2 dstLen:0 kind:1 table:254 metric:0 devs:[]}",
		},
		"dead":       {slices.Concat(header(0, unix.RTNH_F_DEAD), attr(unix.RTA_OIF, u32(3)...)), "{family:2 dstLen:0 kind:1 table:254 metric:0 devs:[]}"},
		"cached":     {header(0, unix.RTM_F_CLONED), ""},
		"per source": {header(64, 0), ""},
		"too short":  {header(0, 0)[:11], ""},
	} {
		r, ok := parseRoute(c.body)
		got := ""
		if ok {
			got = fmt.Sprintf("{family:%d dstLen:%d kind:%d table:%d metric:%d devs:%v}", r.family, r.dstLen, r.kind, r.table, r.metric, r.devs)
			if r.gateway.IsValid() {
				got += " by " + r.gateway.String()
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A dump of this machine agrees with what the net package finds.
func TestSnapshot(t *testing.T) {
	snap, err := takeSnapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range interfaces {
		at := slices.IndexFunc(snap.links, func(l linkMsg) bool { return l.index == want.Index })
		if at < 0 || snap.links[at].name != want.Name {
			t.Errorf("%s is not among %+v", want.Name, snap.links)
		}
		addrs, err := want.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range addrs {
			if !slices.ContainsFunc(snap.addrs, func(m addrMsg) bool {
				return m.index == want.Index && m.prefix.String() == a.String()
			}) {
				t.Errorf("%s: %v is not among %+v", want.Name, a, snap.addrs)
			}
		}
	}
	if len(snap.fib.rules) == 0 {
		t.Error("no routing rules")
	}
	named, err := linksOf(snap.addrs)
	if err != nil || len(named) == 0 {
		t.Fatalf("names by ioctl: %v, %v", named, err)
	}
	for _, got := range named {
		at := slices.IndexFunc(snap.links, func(l linkMsg) bool { return l.index == got.index })
		const seen = unix.IFF_UP | unix.IFF_LOWER_UP | unix.IFF_LOOPBACK
		if at < 0 || snap.links[at].name != got.name || snap.links[at].flags&seen != got.flags&seen {
			t.Errorf("by ioctl %+v, by dump %+v", got, snap.links)
		}
	}
}

func FuzzNetlink(f *testing.F) {
	message := func(kind uint16, body []byte) []byte {
		b := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
		b = binary.NativeEndian.AppendUint16(b, kind)
		return append(append(b, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0), body...)
	}
	f.Add(slices.Concat(
		message(unix.RTM_NEWLINK, slices.Concat(make([]byte, 4), u32(3), u32(1), u32(0), attr(unix.IFLA_IFNAME, 'a', 0),
			attr(unix.IFLA_LINKINFO, attr(unix.IFLA_INFO_KIND, 't', 'u', 'n', 0)...))),
		message(unix.RTM_NEWADDR, slices.Concat([]byte{2, 24, 0, 0}, u32(3), attr(unix.IFA_LOCAL, 10, 0, 0, 2)))))
	f.Add(message(unix.RTM_NEWROUTE, slices.Concat([]byte{2, 0, 0, 0, 254, 0, 0, 1}, u32(0), attr(unix.RTA_OIF, u32(3)...),
		attr(unix.RTA_MULTIPATH, 8, 0, 0, 0, 3, 0, 0, 0))))
	f.Add(message(unix.RTM_NEWRULE, slices.Concat([]byte{2, 0, 32, 0, 102, 0, 0, 1}, u32(0), attr(unix.FRA_SRC, 10, 0, 0, 2),
		attr(unix.FRA_TABLE, u32(102)...), attr(unix.FRA_UID_RANGE, make([]byte, 8)...))))
	f.Add(slices.Concat(
		message(unix.RTM_NEWLINK, slices.Concat(make([]byte, 4), u32(21), u32(linkUp), u32(0), attr(unix.IFLA_IFNAME, []byte("wlan0\x00")...))),
		message(unix.RTM_NEWRULE, slices.Concat([]byte{2, 0, 0, 0, 0, 0, 0, 1}, u32(0), attr(unix.FRA_TABLE, u32(1021)...),
			attr(unix.FRA_FWMARK, u32(0x10064)...), attr(unix.FRA_FWMASK, u32(0x1ffff)...), attr(unix.FRA_PRIORITY, u32(16000)...))),
		message(unix.RTM_NEWRULE, slices.Concat([]byte{2, 0, 0, 0, 0, 0, 0, 1}, u32(0), attr(unix.FRA_TABLE, u32(1021)...),
			attr(unix.FRA_OIFNAME, []byte("wlan0\x00")...)))))
	f.Add(message(unix.NLMSG_ERROR, u32(^uint32(12))))
	f.Add(message(unix.NLMSG_DONE, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		interrupted := false
		links, _, _ := collect(nil, b, unix.RTM_NEWLINK, parseLink, &interrupted)
		addrs, _, _ := collect(nil, b, unix.RTM_NEWADDR, parseAddr, &interrupted)
		routes, _, _ := collect(nil, b, unix.RTM_NEWROUTE, parseRoute, &interrupted)
		rules, _, _ := collect(nil, b, unix.RTM_NEWRULE, parseRule, &interrupted)
		w := watcher{names: map[int]string{}}
		for rest := b; len(rest) > 0; {
			m, next, err := nextMessage(rest)
			if err != nil {
				break
			}
			if len(next) >= len(rest) {
				t.Fatal("no progress")
			}
			w.changesOf(m)
			rest = next
		}
		snap := &snapshot{links: links, addrs: addrs, fib: newFib(rules, routes, 1000)}
		check := func() {
			for _, i := range (System{Root: "/nonexistent"}).inspect(snap, func(string) error { return nil }) {
				if i.Name == "" || i.Index <= 0 {
					t.Fatalf("%+v", i)
				}
				for _, p := range i.Addrs {
					if !p.IsValid() {
						t.Fatalf("%+v", i)
					}
				}
			}
		}
		check()
		snap.phone = &phone{networks: android.Networks(snap.fib.androidRules()), access: map[uint32]access{}, uid: 10123}
		for _, n := range snap.phone.networks {
			snap.phone.access[n.NetID] = access{mark: n.NetID | 0x10000}
		}
		check()
	})
}
