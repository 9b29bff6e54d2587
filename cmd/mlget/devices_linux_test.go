package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
)

// TestVPNIsALinkWhenNamed: a device that auto leaves out, since its bytes are another link's, is
// one like any other where it is named.
func TestVPNIsALinkWhenNamed(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 8e6}, fastWiFi, "wg0,down=120,rtt=30")
	for links, want := range map[string]string{"auto": "wlan0", "all": "wlan0", "wg0": "wg0", "wlan0,wg0": "wlan0 wg0"} {
		l.auto(t, "--links", links, "--report", "report.json", l.URL()).want(t, 0)
		l.wantBody(t)
		names := ""
		for _, k := range readReport(t, filepath.Join(l.dir, "report.json")).Links {
			if k.Bytes > 0 && k.Bind == "device" {
				names += " " + k.Name
			}
		}
		if names != " "+want {
			t.Errorf("--links %s uses%s, want %s", links, names, want)
		}
	}
}

// TestVRFIsALinkWhenNamed: by its own name and by that of the card within, where this machine has
// no other route.
func TestVRFIsALinkWhenNamed(t *testing.T) {
	t.Parallel()
	x := newCrossroads(t, "eth9")
	if out, err := exec.Command("ip", "-n", x.name+"c", "link", "add", "blue", "type", "vrf", "table", "77").CombinedOutput(); err != nil {
		t.Skipf("this kernel has no VRFs: %v: %s", err, out)
	}
	x.inIP(t, "c", "link set dev blue up")
	x.inIP(t, "c", "link set dev eth9 master blue") // its routes go with it, but for the default ones
	for _, family := range []string{"", "-6 "} {
		_ = exec.Command("ip", "-n", x.name+"c", "route", "del", "default").Run() // it may be gone
		router := map[string]string{"": "192.0.2.1", "-6 ": "2001:db8::1"}[family]
		x.inIP(t, "c", family+"route replace default via "+router+" dev eth9 table 77")
	}
	for _, args := range [][]string{{"--links", "blue"}, {"--links", "eth9"}} {
		x.mlget(t, nil, append(args, "--report", "r.json", "-o", "out.bin", "--checksum", "sha256="+x.sum, x.url4)...).want(t, 0)
		must(t, os.Remove(filepath.Join(x.dir, "out.bin")))
		if rep := readReport(t, filepath.Join(x.dir, "r.json")); len(rep.Links) != 1 || rep.Links[0].Bind != "device" {
			t.Errorf("%q: %+v", args, rep.Links)
		}
	}
}
