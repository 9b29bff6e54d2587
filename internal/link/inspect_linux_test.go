package link

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	linkUp    = unix.IFF_UP | unix.IFF_LOWER_UP
	anyServer = "nameserver 192.0.2.53\n"
)

// twoLinks is a machine with wlan0 (3, metric 100) and rmnet0 (4, metric 600).
func twoLinks() *snapshot {
	return &snapshot{
		links: []linkMsg{
			{index: 4, flags: linkUp, name: "rmnet0"},
			{index: 3, flags: linkUp, name: "wlan0"},
			{index: 1, flags: linkUp | unix.IFF_LOOPBACK, name: "lo"},
		},
		addrs: []addrMsg{
			{index: 1, prefix: netip.MustParsePrefix("127.0.0.1/8")},
			{index: 3, prefix: netip.MustParsePrefix("10.1.0.2/24")},
			{index: 4, prefix: netip.MustParsePrefix("10.2.0.2/24")},
		},
		fib: newFib(usualRules(), []routeMsg{
			defaultVia(unix.RT_TABLE_MAIN, 100, 3), defaultVia(unix.RT_TABLE_MAIN, 600, 4),
		}, 1000),
	}
}

func rpFiles(all, rmnet string) map[string]string {
	return map[string]string{
		"proc/sys/net/ipv4/conf/all/rp_filter": all, "proc/sys/net/ipv4/conf/rmnet0/rp_filter": rmnet,
		"etc/resolv.conf": anyServer,
	}
}

func TestInspect(t *testing.T) {
	sourceRule := func(s *snapshot) {
		r := ruleTo(102)
		r.src = netip.MustParsePrefix("10.2.0.2/32")
		s.fib = newFib(append(usualRules(), r), []routeMsg{
			defaultVia(unix.RT_TABLE_MAIN, 100, 3), defaultVia(102, 0, 4),
		}, 1000)
	}
	for name, c := range map[string]struct {
		change   func(*snapshot)
		files    map[string]string
		bindErr  error
		bind     Method
		usable   bool
		severity Severity // of the first problem of rmnet0
		what     string
		fix      string
		source4  string
	}{
		"all well":           {nil, rpFiles("0\n", "0\n"), nil, BindDevice, true, "", "", "", ""},
		"loose filter":       {nil, rpFiles("2\n", "1\n"), nil, BindDevice, true, "", "", "", ""},
		"no such files":      {nil, map[string]string{"etc/resolv.conf": anyServer}, nil, BindDevice, true, "", "", "", ""},
		"strict filter":      {nil, rpFiles("0\n", "1\n"), nil, BindDevice, false, Fatal, "rp_filter is 1", "sudo sysctl -w net.ipv4.conf.rmnet0.rp_filter=2", ""},
		"strict for all":     {nil, rpFiles("1\n", "0\n"), nil, BindDevice, false, Fatal, "rp_filter is 1", "sudo sysctl -w net.ipv4.conf.rmnet0.rp_filter=2", ""},
		"strict, but a rule": {sourceRule, rpFiles("1\n", "1\n"), nil, BindDevice, true, "", "", "", "10.2.0.2"},
		"down": {
			func(s *snapshot) { s.links[0].flags = 0 }, rpFiles("0", "0"), nil, BindDevice, false,
			Fatal, "it is down", "sudo ip link set rmnet0 up", "",
		},
		"no carrier": {
			func(s *snapshot) { s.links[0].flags = unix.IFF_UP }, rpFiles("0", "0"), nil, BindDevice, false,
			Fatal, "no carrier", "", "",
		},
		"no address": {
			func(s *snapshot) { s.addrs = s.addrs[:2] }, rpFiles("0", "0"), nil, BindDevice, false,
			Fatal, "no address", "nmcli device connect rmnet0", "",
		},
		"address is being checked": {
			func(s *snapshot) { s.addrs[2].flags = unix.IFA_F_TENTATIVE }, rpFiles("0", "0"), nil, BindDevice, false,
			Fatal, "no address", "nmcli", "",
		},
		"no default route": {
			func(s *snapshot) {
				s.fib = newFib(usualRules(), []routeMsg{defaultVia(unix.RT_TABLE_MAIN, 100, 3)}, 1000)
			}, rpFiles("1", "1"), nil, BindDevice, true,
			Warning, "no default route", "sudo ip route add default via GATEWAY dev rmnet0 metric 200", "",
		},
		"no default route, point to point": {
			func(s *snapshot) {
				s.links[0].flags |= unix.IFF_POINTOPOINT
				s.fib = newFib(usualRules(), nil, 1000)
			}, rpFiles("0", "0"), nil, BindDevice, true,
			Warning, "no default route", "sudo ip route add default dev rmnet0 metric 100", "",
		},
		"no name server": {nil, map[string]string{}, nil, BindDevice, true, Note, "no name server", "dns=9.9.9.9", ""},
		"no permission": {
			nil, rpFiles("0", "0"), unix.EPERM, BindNone, false,
			Fatal, "a socket cannot be bound to it (operation not permitted)", `sudo setcap cap_net_raw+ep "$(command -v mlget)"`, "",
		},
		"no permission, but a rule": {sourceRule, rpFiles("1", "1"), unix.EPERM, BindAddress, true, Note, "its address is", "", "10.2.0.2"},
		"no permission, a rule that leads elsewhere": {
			func(s *snapshot) {
				r := ruleTo(unix.RT_TABLE_MAIN)
				r.src = netip.MustParsePrefix("10.2.0.0/24")
				s.fib = newFib(append(usualRules(), r), s.fib.routes, 1000)
			}, rpFiles("0", "0"), unix.EPERM, BindNone, false, Fatal, "cannot be bound", "setcap", "",
		},
		"a name to beware of": {
			func(s *snapshot) { s.links[0].name = "a;reboot" },
			map[string]string{"proc/sys/net/ipv4/conf/all/rp_filter": "1"},
			nil, BindDevice, false,
			Fatal, "rp_filter", "sudo sysctl -w 'net.ipv4.conf.a;reboot.rp_filter=2'", "",
		},
		"a name with a dot": {
			func(s *snapshot) { s.links[0].name = "eth0.7" },
			map[string]string{"proc/sys/net/ipv4/conf/all/rp_filter": "1"},
			nil, BindDevice, false,
			Fatal, "rp_filter", "sudo sysctl -w net.ipv4.conf.eth0/7.rp_filter=2", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			snap := twoLinks()
			if c.change != nil {
				c.change(snap)
			}
			infos := tree(t, c.files).inspect(snap, func(string) error { return c.bindErr })
			if len(infos) != 3 || infos[0].Name != "lo" || infos[1].Name != "wlan0" {
				t.Fatalf("order of %+v", infos)
			}
			if c.bindErr == nil && !infos[0].Usable() {
				t.Errorf("lo: %+v", infos[0].Problems)
			}
			i := infos[2]
			var first Problem
			if len(i.Problems) > 0 {
				first = i.Problems[0]
			}
			if i.Bind != c.bind || i.Usable() != c.usable || first.Severity != c.severity ||
				!strings.Contains(first.What, c.what) || !strings.Contains(first.Fix, c.fix) {
				t.Errorf("bind %q, usable %v, problems %+v", i.Bind, i.Usable(), i.Problems)
			}
			if got := i.Source4; got.IsValid() != (c.source4 != "") || got.IsValid() && got.String() != c.source4 {
				t.Errorf("source %v, want %q", got, c.source4)
			}
			if !i.Usable() && !slices.ContainsFunc(i.Problems, func(p Problem) bool { return p.Severity == Fatal }) {
				t.Error("unusable without a reason")
			}
		})
	}
}

func TestTech(t *testing.T) {
	s := tree(t, map[string]string{
		"sys/class/net/radio/uevent":       "DEVTYPE=wlan\nINTERFACE=radio\n",
		"sys/class/net/modem/uevent":       "DEVTYPE=wwan\n",
		"sys/class/net/old/wireless/level": "0",
		"sys/class/net/eth0/uevent":        "INTERFACE=eth0\n",
	})
	for name, want := range map[string]Tech{
		"radio": TechWiFi, "modem": TechLTE, "old": TechWiFi, "eth0": TechEthernet, "usb0": TechUnknown, "rmnet0": TechLTE,
	} {
		if got := s.tech(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
