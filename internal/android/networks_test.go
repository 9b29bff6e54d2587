package android_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/mlget/mlget/internal/android"
)

func TestHere(t *testing.T) {
	root := t.TempDir()
	if android.Here(root) {
		t.Error("an empty tree is a phone")
	}
	if err := os.MkdirAll(filepath.Join(root, "dev", "__properties__"), 0o755); err != nil {
		t.Fatal(err)
	}
	if !android.Here(root) {
		t.Error("not recognised")
	}
	if got, want := android.FwmarkdPath(root), filepath.Join(root, "dev", "socket", "fwmarkd"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestVPN: the number of a VPN's network is in the rule for the system's programs; a rule
// that lets a VPN's packets fall through to the network below leads to another table.
func TestVPN(t *testing.T) {
	rules := []android.Rule{
		{Mark: 0x10064, Mask: 0x1ffff, Table: 1021, ToTable: true},                          // Wi-Fi, chosen
		{Mark: 0x66, Mask: 0xffff, Table: 1021, ToTable: true},                              // falling through
		{Mark: 0, Mask: 0x20000, Table: 1030, ToTable: true, UIDs: true},                    // who is under the VPN
		{Mark: 0x10067, Mask: 0x1ffff, Table: 1030, ToTable: true, UIDs: true},              // root's
		{Mark: 0xc0065, Mask: 0xcffff, Table: 1031, ToTable: true},                          // another VPN
		{Mark: 0xc0066, Mask: 0xcffff, Table: 1030, ToTable: true},                          // the system's
		{OIF: "tun0", Table: 1030, ToTable: true, Mark: 0xc0068, Mask: 0xcffff, UIDs: true}, // of a device
	}
	if n, ok := android.VPN(rules, 1030); !ok || n != (android.Network{NetID: 0x66, Index: 30, Interface: "tun0"}) {
		t.Errorf("%+v, %v", n, ok)
	}
	if n, ok := android.VPN(rules, 1021); ok {
		t.Errorf("Wi-Fi is a VPN: %+v", n)
	}
	if n, ok := android.VPN(nil, 1030); ok {
		t.Errorf("without rules: %+v", n)
	}
}

// Rules as `ip rule` shows them on phones, of one address family.
func TestNetworks(t *testing.T) {
	to := func(mark, mask, table uint32) android.Rule {
		return android.Rule{Mark: mark, Mask: mask, Table: table, ToTable: true}
	}
	oif := func(name string, table uint32) android.Rule {
		return android.Rule{OIF: name, Table: table, ToTable: true}
	}
	common := []android.Rule{
		to(0xc0000, 0xd0000, 99), // legacy system
		to(0x10063, 0x1ffff, 97), // the local network
		{Mark: 0, Mask: 0x20000, UIDs: true},
		to(0x0, 0x10000, 97),
		to(0x64, 0x1ffff, 1021), // implicit: not chosen
		to(0x0, 0xffff, 1021),   // default
		{Mark: 0, Mask: 0},      // unreachable
	}
	wifi := android.Network{NetID: 100, Index: 21, Interface: "wlan0"}
	for name, c := range map[string]struct {
		rules []android.Rule
		want  []android.Network
	}{
		"none": {common, nil},
		"Wi-Fi, and LTE in the background": {
			append(common, oif("wlan0", 1021), oif("rmnet_data0", 1012),
				to(0x10064, 0x1ffff, 1021), to(0x50065, 0x5ffff, 1012)),
			[]android.Network{wifi, {NetID: 101, Index: 12, Interface: "rmnet_data0", Permission: android.PermissionNetwork}},
		},
		"464XLAT, and a network for calls": {
			append(common, oif("wlan0", 1021), oif("rmnet1", 1013), oif("rmnet0", 1012), oif("v4-rmnet0", 1030),
				to(0x10064, 0x1ffff, 1021), to(0x50065, 0x5ffff, 1012), to(0x50065, 0x5ffff, 1030), to(0xd0066, 0xdffff, 1013)),
			[]android.Network{
				wifi,
				{NetID: 101, Index: 12, Interface: "rmnet0", Permission: android.PermissionNetwork},
				{NetID: 101, Index: 30, Interface: "v4-rmnet0", Permission: android.PermissionNetwork},
				{NetID: 102, Index: 13, Interface: "rmnet1", Permission: android.PermissionSystem},
			},
		},
		"both families, and users' own rules of Android 12": {
			append(common, oif("wlan0", 1021), to(0x10064, 0x1ffff, 1021), to(0x10064, 0x1ffff, 1021),
				android.Rule{Mark: 0x10065, Mask: 0x1ffff, Table: 1012, UIDs: true, ToTable: true}),
			[]android.Network{wifi},
		},
		"no rule tells the interface": {
			[]android.Rule{to(0x10064, 0x1ffff, 1021)}, []android.Network{{NetID: 100, Index: 21}},
		},
		"the interface came back under another index": {
			[]android.Rule{to(0x10064, 0x1ffff, 1021), oif("wlan0", 1021)}, []android.Network{wifi},
		},
		"local routes of Android 13": {
			[]android.Rule{to(0x10064, 0x1ffff, 1000000021), to(0x10064, 0x1ffff, 3)}, nil,
		},
		"a rule that leads to no table": {[]android.Rule{{Mark: 0x10064, Mask: 0x1ffff, Table: 1021}}, nil},
	} {
		if got := android.Networks(c.rules); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzNetworks(f *testing.F) {
	f.Add([]byte{0x64, 0, 1, 0, 0xff, 0xff, 1, 0, 0xfd, 3, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var rules []android.Rule
		for ; len(b) >= 13; b = b[13:] {
			rules = append(rules, android.Rule{
				Mark: binary.LittleEndian.Uint32(b), Mask: binary.LittleEndian.Uint32(b[4:]), Table: binary.LittleEndian.Uint32(b[8:]),
				ToTable: b[12]&1 != 0, UIDs: b[12]&2 != 0, OIF: []string{"", "wlan0"}[b[12]>>2&1],
			})
		}
		for _, n := range android.Networks(rules) {
			if n.NetID < 100 || n.NetID > 0xffff || n.Index < 0 || n.Index == 0 && n.Interface == "" {
				t.Errorf("%+v", n)
			}
		}
	})
}
