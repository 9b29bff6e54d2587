package link

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func someInfos() []Info {
	ok := func(name string, v Virtual, problems ...Problem) Info {
		return Info{Name: name, Bind: BindDevice, Virtual: v, Problems: problems}
	}
	return []Info{
		ok("lo", VirtualLoopback),
		ok("wlan0", VirtualNot, Problem{What: "a note", Severity: Note}),
		ok("rmnet0", VirtualNot),
		ok("eth0", VirtualNot, Problem{What: "no route", Severity: Warning, Fix: "add one"}),
		ok("eth1", VirtualNot, Problem{What: "a note", Severity: Note}, Problem{What: "down", Severity: Fatal}),
		{Name: "eth2"},
		ok("wg0", VirtualVPN),
	}
}

// TestRefusedLinkLeavesMeteredOut: a free link whose hours have not begun, or whose plan is
// used up, is no reason to use a link that costs money and that nobody has named.
func TestRefusedLinkLeavesMeteredOut(t *testing.T) {
	wifi := Info{Name: "wlan0", Bind: BindDevice, Tech: TechWiFi}
	cellular := Info{Name: "rmnet0", Bind: BindDevice, Tech: TechLTE, Metered: MeteredCellular}
	for name, c := range map[string]struct {
		refuse bool
		names  []string
		want   string
	}{
		"there":            {false, nil, "wlan0"},
		"refused":          {true, nil, ""},
		"refused, all":     {true, []string{All}, "rmnet0"},
		"refused, by name": {true, []string{"wlan0", "rmnet0"}, "rmnet0"},
	} {
		infos := []Info{wifi, cellular}
		if c.refuse {
			infos[0].Refuse("its hours have not begun", "")
		}
		usable, _, err := Choose(infos, c.names)
		if got := strings.Join(namesOf(usable), " "); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func namesOf(infos []Info) (names []string) {
	for _, i := range infos {
		names = append(names, i.Name)
	}
	return names
}

// TestWhyNoLink: where no link is left, the error says why of each, and of those with the
// same reason together.
func TestWhyNoLink(t *testing.T) {
	dead := func(name, why string) Info {
		return Info{Name: name, Problems: []Problem{{What: why, Severity: Fatal}}}
	}
	for _, c := range []struct {
		infos []Info
		want  string
	}{
		{nil, "no usable link: no network is connected"},
		{someInfos()[:1], "no usable link: no network is connected"},
		{[]Info{dead("wlan0", "it is down")}, "no usable link: wlan0: it is down"},
		{[]Info{dead("wlan0", "a VPN is up"), dead("rmnet0", "a VPN is up")}, "no usable link: wlan0, rmnet0: a VPN is up"},
		{
			[]Info{dead("a", "down"), dead("b", "down"), dead("c", "no address"), dead("d", "down"), dead("e", "odd"), dead("f\x1b", "down")},
			"no usable link: a, b and 2 more: down; c: no address",
		},
	} {
		if _, _, err := Choose(c.infos, nil); !errors.Is(err, ErrNoLink) || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		names    []string
		usable   []string
		rejected []string // an asterisk: Named
		err      error
	}{
		{nil, []string{"wlan0", "rmnet0"}, []string{"eth0", "eth1", "eth2"}, nil},
		{[]string{"auto"}, []string{"wlan0", "rmnet0"}, []string{"eth0", "eth1", "eth2"}, nil},
		{[]string{"rmnet0", "wlan0", "rmnet0"}, []string{"rmnet0", "wlan0"}, nil, nil},
		{[]string{"lo"}, []string{"lo"}, nil, nil},
		{[]string{"wg0", "eth0"}, []string{"wg0", "eth0"}, nil, nil},
		{[]string{"auto", "lo"}, []string{"lo", "wlan0", "rmnet0"}, []string{"eth0", "eth1", "eth2"}, nil},
		{[]string{"nope", "wlan0"}, []string{"wlan0"}, []string{"nope*"}, nil},
		{[]string{"eth1"}, nil, []string{"eth1*"}, ErrNoLink},
		{[]string{"eth1", "eth2", "nope"}, nil, []string{"eth1*", "eth2*", "nope*"}, ErrNoLink},
	} {
		usable, rejected, err := Choose(someInfos(), c.names)
		var gotUsable, gotRejected []string
		for _, i := range usable {
			gotUsable = append(gotUsable, i.Name)
		}
		for _, r := range rejected {
			name := r.Name
			if r.Named {
				name += "*"
			}
			if r.Why == "" {
				t.Errorf("%v: %s is rejected without a reason", c.names, r.Name)
			}
			gotRejected = append(gotRejected, name)
		}
		if !slices.Equal(gotUsable, c.usable) || !slices.Equal(gotRejected, c.rejected) || !errors.Is(err, c.err) {
			t.Errorf("Choose(%v) = %v, %v, %v, want %v, %v, %v", c.names, gotUsable, gotRejected, err, c.usable, c.rejected, c.err)
		}
	}
	if _, _, err := Choose(nil, nil); !errors.Is(err, ErrNoLink) {
		t.Errorf("no interfaces: %v", err)
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		loopback   bool
		want       Virtual
		tech       Tech
	}{
		{"lo", "", true, VirtualLoopback, TechUnknown},
		{"eth0", "", false, VirtualNot, TechEthernet},
		{"enp3s0", "", false, VirtualNot, TechEthernet},
		{"wlan0", "tun", false, VirtualNot, TechWiFi}, // emulated
		{"eth0", "veth", false, VirtualNot, TechEthernet},
		{"wlp2s0", "", false, VirtualNot, TechWiFi},
		{"rmnet_data0", "", false, VirtualNot, TechLTE},
		{"v4-rmnet_data0", "tun", false, VirtualNot, TechLTE},
		{"wwan0", "", false, VirtualNot, TechLTE},
		{"ccmni0", "", false, VirtualNot, TechLTE},
		{"seth_lte0", "", false, VirtualNot, TechLTE},
		{"sipa_eth2", "", false, VirtualNot, TechLTE},
		{"v4-sipa_eth0", "tun", false, VirtualNot, TechLTE},
		{"wlan1", "", false, VirtualNot, TechWiFi},
		{"rndis0", "", false, VirtualNot, TechUnknown},
		{"docker0", "bridge", false, VirtualBridge, TechUnknown},
		{"docker0", "", false, VirtualContainer, TechUnknown},
		{"br0", "bridge", false, VirtualBridge, TechUnknown},
		{"br-1a2b", "", false, VirtualBridge, TechUnknown},
		{"veth12", "veth", false, VirtualContainer, TechUnknown},
		{"tun0", "tun", false, VirtualVPN, TechUnknown},
		{"office", "wireguard", false, VirtualVPN, TechUnknown},
		{"tailscale0", "tun", false, VirtualVPN, TechUnknown},
		{"utun3", "", false, VirtualVPN, TechUnknown},
		{"bond0", "bond", false, VirtualNot, TechUnknown},
		{"ppp0", "ppp", false, VirtualNot, TechUnknown},
		{"usb0", "", false, VirtualNot, TechUnknown},
		{"ifb0", "ifb", false, VirtualDummy, TechUnknown},
	} {
		if got, tech := classify(c.name, c.kind, c.loopback), guessTech(c.name); got != c.want || tech != c.tech {
			t.Errorf("%s (%s) = %q %q, want %q %q", c.name, c.kind, got, tech, c.want, c.tech)
		}
	}
}

// TestAnInterfaceNamedAsAKind is meant before its kind, wherever it stands.
func TestAnInterfaceNamedAsAKind(t *testing.T) {
	infos := someInfos()[1:]
	infos[0].Name = "wifi"
	usable, _, err := Choose(infos, []string{"wifi"})
	if err != nil || len(usable) != 1 || usable[0].Name != "wifi" {
		t.Errorf("%v, %v", usable, err)
	}
}

func TestOwnAddress(t *testing.T) {
	mine, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	for _, a := range mine {
		if p, err := netip.ParsePrefix(a.String()); err != nil || !ownAddress(p.Addr()) || !ownAddress(netip.AddrFrom16(p.Addr().As16())) {
			t.Errorf("%v is not this machine's", a)
		}
	}
	for _, other := range []string{"192.0.2.77", "2001:db8::77", "::ffff:192.0.2.77"} { // RFC 5737, 3849
		if ownAddress(netip.MustParseAddr(other)) {
			t.Errorf("%s is this machine's", other)
		}
	}
}
