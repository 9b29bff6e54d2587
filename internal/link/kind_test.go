package link

import (
	"strings"
	"testing"
)

func TestChooseKind(t *testing.T) {
	up := func(name string, tech Tech) Info { return Info{Name: name, Tech: tech, Bind: BindNetwork} }
	refused := up("rmnet1", TechLTE)
	refused.problem(Fatal, "refused", "")
	doubtful := up("rmnet2", TechNR)
	doubtful.problem(Warning, "doubtful", "")
	translator := up("v4-rmnet0", TechLTE)
	translator.Virtual = VirtualCLAT
	tethered := up("usb0", TechUnknown)
	infos := []Info{up("wlan0", TechWiFi), up("rmnet0", TechLTE), refused, doubtful, translator, tethered, up("wifi", TechEthernet)}
	for _, c := range []struct {
		names    string
		specs    map[string]Spec
		usable   string
		rejected string // with a ! where it is said aloud, a $ where it is for its costs alone
	}{
		{"cellular", nil, "rmnet0", "rmnet1 rmnet2"},
		{"ethernet", nil, "wifi", ""},
		{"wifi", nil, "wifi", ""}, // one is called so
		{"cellular,rmnet2", nil, "rmnet0 rmnet2", "rmnet1 rmnet2"},
		{"rmnet2,cellular,wlan0", nil, "rmnet2 rmnet0 wlan0", "rmnet1"},
		{"cellular", map[string]Spec{"usb0": {Name: "usb0", Tech: TechLTE}}, "rmnet0 usb0", "rmnet1 rmnet2"},
		{"cellular", map[string]Spec{"rmnet0": {Name: "rmnet0", Tech: TechWiFi}}, "", "rmnet1! rmnet2!"},
		{"cellular,auto", nil, "rmnet0 wlan0 wifi", "rmnet1 rmnet2 rmnet1 rmnet2 usb0$"},
		{"auto", nil, "wlan0 wifi", "rmnet0$ rmnet1 rmnet2 usb0$"},
		{"all", nil, "wlan0 rmnet0 usb0 wifi", "rmnet1 rmnet2"},
		{"auto,usb0", nil, "usb0 wlan0 wifi", "rmnet0$ rmnet1 rmnet2"},
		{"auto", map[string]Spec{"usb0": {Name: "usb0", Metered: "no"}, "wlan0": {Name: "wlan0", Metered: "yes"}}, "usb0 wifi", "wlan0$ rmnet0$ rmnet1 rmnet2"},
		{"auto", map[string]Spec{"cellular": {Name: "cellular", Metered: "no"}}, "wlan0 rmnet0 wifi", "rmnet1 rmnet2 usb0$"},
		{"auto", map[string]Spec{"cellular": {Name: "cellular", Metered: "no"}, "rmnet0": {Name: "rmnet0", Metered: "yes"}}, "wlan0 wifi", "rmnet0$ rmnet1 rmnet2 usb0$"},
		{"auto", map[string]Spec{"usb0": {Name: "usb0", Tech: TechLTE}, "rmnet0": {Name: "rmnet0", Tech: TechEthernet}}, "wlan0 rmnet0 wifi", "rmnet1 rmnet2 usb0$"},
	} {
		usable, rejected, err := Choose(Apply(append([]Info(nil), infos...), c.specs), strings.Split(c.names, ","))
		var got, left []string
		for _, i := range usable {
			got = append(got, i.Name)
		}
		for _, r := range rejected {
			name := r.Name
			if r.Named {
				name += "!"
			}
			if r.Metered != MeteredNo {
				name += "$"
			}
			left = append(left, name)
		}
		if g, l := strings.Join(got, " "), strings.Join(left, " "); g != c.usable || l != c.rejected || (err == nil) != (c.usable != "") {
			t.Errorf("%s: %q, rejected %q, %v; want %q, %q", c.names, g, l, err, c.usable, c.rejected)
		}
	}
	if got := strings.Join(Kinds(infos[:2]), " "); got != "wifi cellular" {
		t.Errorf("kinds %s", got)
	}
	if _, rejected, _ := Choose(infos[:1], []string{"cellular"}); len(rejected) != 1 || !rejected[0].Named || rejected[0].Why != "no such link" {
		t.Errorf("none at all: %+v", rejected)
	}
}

func TestSpecOf(t *testing.T) {
	specs := map[string]Spec{"cellular": {Name: "cellular", Cap: 7}, "rmnet1": {Name: "rmnet1", Rate: 8}}
	for name, want := range map[string]string{"rmnet0": "cellular", "rmnet1": "rmnet1", "wlan0": ""} {
		spec, described := SpecOf(Info{Name: name, Tech: guessTech(name)}, specs)
		if described != want || want != "" && spec.Name != name || want == "cellular" && spec.Cap != 7 {
			t.Errorf("%s: %+v by %q, want %q", name, spec, described, want)
		}
	}
}
