package link

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestWriteTable(t *testing.T) {
	infos := []Info{
		{
			Name: "wlan0", Index: 3, Up: true, Carrier: true, Default4: true, Default6: true, Bind: BindDevice, Tech: TechWiFi,
			Addrs: []netip.Prefix{
				netip.MustParsePrefix("10.0.0.2/24"), netip.MustParsePrefix("fe80::1/64"),
				netip.MustParsePrefix("2001:db8::2/64"), netip.MustParsePrefix("2001:db8::3/64"),
			},
			Resolvers: []Resolver{{Method: ResolverGiven, Servers: []netip.AddrPort{netip.MustParseAddrPort("9.9.9.9:53")}}},
		},
		{
			Name: "x\x1b[2J", Index: 4, Up: true, Carrier: true, Bind: BindDevice, Default4: true,
			Addrs:    []netip.Prefix{netip.MustParsePrefix("10.0.1.2/24")},
			Problems: []Problem{{What: "replies are dropped", Fix: "sysctl", Severity: Fatal}},
		},
		{Name: "eth0"},
		{Name: "ifb0", Virtual: VirtualDummy, Problems: []Problem{{What: "it is down", Fix: "sudo ip link set ifb0 up", Severity: Fatal}}},
	}
	var b strings.Builder
	if err := WriteTable(&b, infos); err != nil {
		t.Fatal(err)
	}
	want := `LINK      STATE             TECH  METERED  ADDRESS                        DEFAULT  BIND    DNS
wlan0     usable            wifi  -        10.0.0.2/24 2001:db8::2/64 +1  v4 v6    device  9.9.9.9 (given)
x\x1b[2J  unusable          -     -        10.0.1.2/24                    v4       device  -
eth0      down              -     -        -                              -        -       -
ifb0      unusable (dummy)  -     -        -                              -        -       -

x\x1b[2J: unusable: replies are dropped
    sysctl
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	broken := errors.New("broken pipe")
	if err := WriteTable(failingWriter{broken}, infos); !errors.Is(err, broken) {
		t.Errorf("a failing writer gives %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestInfoJSON(t *testing.T) {
	i := Info{
		Name: "wlan0", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24")},
		Resolvers: []Resolver{{Method: ResolverNetworkd, Servers: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.1:53")}}},
		Problems:  []Problem{},
	}
	got, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"wlan0","index":0,"up":false,"carrier":false,"addresses":["10.0.0.2/24"],` +
		`"default_route_v4":false,"default_route_v6":false,"rp_filter":0,"bind":"",` +
		`"resolvers":[{"method":"systemd-networkd","servers":["10.0.0.1:53"]}],"tech":"","metered":"","main":false,"problems":[]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestShellWord(t *testing.T) {
	for text, want := range map[string]string{
		"wlan0": "wlan0", "eth0.100": "eth0.100", "a;reboot": "'a;reboot'", "a b": "'a b'",
		"it's": `'it'\''s'`, "$(id)": "'$(id)'", "": "''", "a\x1b[2J": "INTERFACE", "a\nb": "INTERFACE", "a\xff": "INTERFACE",
	} {
		if got := shellWord(text); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", text, got, want)
		}
	}
}

// What a phone's user gets to see of cellular that is refused.
func TestTableOfPhone(t *testing.T) {
	cellular := Info{
		Name: "rmnet0", Up: true, Carrier: true, Tech: TechLTE, Metered: MeteredCellular,
		Addrs: []netip.Prefix{netip.MustParsePrefix("2001:db8::2/64")},
		Android: &AndroidNetwork{
			NetID: 101, Permission: "CHANGE_NETWORK_STATE", CLAT: "v4-rmnet0", CLATAddr: netip.MustParseAddr("192.0.0.4"),
		},
		Problems: []Problem{{What: "refused", Severity: Fatal, Ways: []string{"one", "two", "three"}}},
	}
	second, third := cellular, cellular
	second.Name, third.Name = "rmnet1", "rmnet2"
	second.Problems = []Problem{{What: "refused for now", Severity: Fatal, Ways: cellular.Problems[0].Ways}}
	var b strings.Builder
	if err := WriteTable(&b, []Info{
		{Name: "lo", Up: true, Carrier: true},
		{Name: "dummy0", Virtual: VirtualDummy, Problems: []Problem{{What: "it is down", Severity: Fatal}}},
		cellular, second, third,
		{Name: "rmnet3", Tech: TechLTE, Problems: []Problem{{What: "it is down", Severity: Fatal}}},
	}); err != nil {
		t.Fatal(err)
	}
	want := `LINK    STATE     TECH METERED ADDRESS                                   DEFAULT  BIND  DNS  NETID  NEEDS
lo      unusable  -    - -                                         -        -     -    -      -
rmnet0  unusable  lte  cellular 2001:db8::2/64 192.0.0.4 by v4-rmnet0     -        -     -    101    CHANGE_NETWORK_STATE
rmnet1  unusable  lte  cellular 2001:db8::2/64 192.0.0.4 by v4-rmnet0     -        -     -    101    CHANGE_NETWORK_STATE
rmnet2  unusable  lte  cellular 2001:db8::2/64 192.0.0.4 by v4-rmnet0     -        -     -    101    CHANGE_NETWORK_STATE

rmnet0, rmnet2: unusable: refused
    one
    two
    three

rmnet1: unusable: refused for now
    as for rmnet0, rmnet2

Down: dummy0, rmnet3

Data over metered links may cost money: --links auto leaves them out unless there is no other link,
--links all uses them, and --link NAME,metered=no says that one is free.
`
	if got := b.String(); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
