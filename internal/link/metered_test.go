package link

import (
	"errors"
	"testing"

	"github.com/mlget/mlget/internal/networkmanager"
)

// TestMeteredBy: what makes a link one whose data may cost money. The meaning of
// NetworkManager's values is its D-Bus reference's (NMMetered).
func TestMeteredBy(t *testing.T) {
	for _, c := range []struct {
		info Info
		want Metered
	}{
		{Info{Name: "wlan0", Tech: TechWiFi}, MeteredNo},
		{Info{Name: "wlan0", Tech: TechWiFi, managed: networkmanager.GuessYes}, MeteredSystem}, // a phone's hotspot
		{Info{Name: "wlan0", Tech: TechWiFi, managed: networkmanager.Yes}, MeteredSystem},
		{Info{Name: "wlan0", Tech: TechWiFi, managed: networkmanager.GuessNo}, MeteredNo},
		{Info{Name: "wwan0", Tech: TechLTE}, MeteredCellular},
		{Info{Name: "rmnet1", Tech: TechNR}, MeteredCellular},
		{Info{Name: "rmnet1", Tech: Tech3G}, MeteredCellular},
		{Info{Name: "wwan0", Tech: TechLTE, managed: networkmanager.No}, MeteredNo}, // a flat rate, its user says
		{Info{Name: "wwan0", Tech: TechLTE, managed: networkmanager.GuessNo}, MeteredCellular},
		{Info{Name: "wwan0", Tech: TechLTE, managed: networkmanager.GuessYes}, MeteredCellular},
		{Info{Name: "usb0"}, MeteredTethering},
		{Info{Name: "usb0", managed: networkmanager.GuessNo}, MeteredTethering}, // NetworkManager takes it for Ethernet
		{Info{Name: "usb0", managed: networkmanager.No}, MeteredNo},
		{Info{Name: "enx0c5b8f279a64", Tech: TechEthernet, tethered: true}, MeteredTethering},
		{Info{Name: "enx0c5b8f279a64", Tech: TechEthernet}, MeteredNo},
		{Info{Name: "eth0", Tech: TechEthernet}, MeteredNo},
		{Info{Name: "lo", Virtual: VirtualLoopback}, MeteredNo},
		{Info{Name: "usb0", Virtual: VirtualTethering}, MeteredNo}, // on the phone itself
	} {
		if got := meteredBy(&c.info); got != c.want {
			t.Errorf("%+v: %q, want %q", c.info, got, c.want)
		}
	}
	for name, want := range map[string]bool{
		"usb0": true, "usb12": true, "rndis0": true, "ncm0": true, "bt-pan": true, "bnep0": true,
		"usbmon": false, "bnep0x": false, "wlan0": false, "ncmx": false,
	} {
		if tetheringName(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestChooseOnlyMetered: a metered link is taken at the start where there is no
// other, that which the rest of the machine uses; later none is.
func TestChooseOnlyMetered(t *testing.T) {
	modem := Info{Name: "wwan0", Tech: TechLTE, Bind: BindDevice, Metered: MeteredCellular}
	cable := Info{Name: "usb0", Bind: BindDevice, Metered: MeteredTethering, Main: true}
	dead := Info{Name: "wlan0", Tech: TechWiFi, Bind: BindDevice, Problems: []Problem{{What: "no carrier", Severity: Fatal}}}
	alive := Info{Name: "wlan0", Tech: TechWiFi, Bind: BindDevice}
	for _, c := range []struct {
		infos []Info
		names []string
		start string // the only link chosen, "" for none
		later int
	}{
		{[]Info{modem}, nil, "wwan0", 0},
		{[]Info{dead, modem}, []string{"auto"}, "wwan0", 0},
		{[]Info{dead, modem, cable}, []string{"auto"}, "usb0", 0},
		{[]Info{alive, modem, cable}, []string{"auto"}, "wlan0", 1},
		{[]Info{dead, modem}, []string{"wlan0"}, "", 0},
		{[]Info{dead, modem}, []string{"wifi"}, "", 0},
		{[]Info{dead, modem}, []string{"all"}, "wwan0", 1},
		{[]Info{dead, modem}, []string{"cellular"}, "wwan0", 1},
		{[]Info{dead, modem}, []string{"wwan0", "auto"}, "wwan0", 1},
		{[]Info{dead}, []string{"auto"}, "", 0},
	} {
		usable, rejected, err := Choose(c.infos, c.names)
		switch {
		case c.start == "" && errors.Is(err, ErrNoLink):
		case err != nil || len(usable) != 1 || usable[0].Name != c.start:
			t.Errorf("%v: %+v, %v, want %s", c.names, usable, err, c.start)
		}
		for _, r := range rejected {
			if r.Name == c.start {
				t.Errorf("%v: %s is chosen and rejected", c.names, r.Name)
			}
		}
		if n := len(Choosable(c.infos, c.names)); n != c.later {
			t.Errorf("%v: %d links may take part later, want %d", c.names, n, c.later)
		}
	}
}

// TestBarred: a barred link sends nothing.
func TestBarred(t *testing.T) {
	l := New(Info{Name: "lo", Bind: BindDevice, Virtual: VirtualLoopback}, Spec{}, Options{}).Barred(ErrMetered)
	if _, err := l.DialContext(t.Context(), "tcp", "127.0.0.1:9"); !errors.Is(err, ErrMetered) {
		t.Error(err)
	}
}
