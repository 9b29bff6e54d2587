package link

import (
	"errors"
	"maps"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/networkmanager"
)

// TestManagerIsRemembered: what NetworkManager has said holds while it cannot be
// asked, so that its restart makes no metered link free.
func TestManagerIsRemembered(t *testing.T) {
	m := NewSystem(t.TempDir()).memory
	type states = map[string]networkmanager.Metered
	for _, c := range []struct {
		now   states
		whole bool
		want  states
	}{
		{nil, false, nil},
		{states{"wlan0": networkmanager.GuessYes}, true, states{"wlan0": networkmanager.GuessYes}},
		{nil, false, states{"wlan0": networkmanager.GuessYes}},
		{states{"eth0": networkmanager.No}, false, states{"wlan0": networkmanager.GuessYes, "eth0": networkmanager.No}},
		{states{"eth0": networkmanager.No}, true, states{"eth0": networkmanager.No}},
	} {
		if got := m.managed(c.now, c.whole); !maps.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.now, got, c.want)
		}
	}
}

// TestNoManager: a tree without a bus, or with one that hangs up, says nothing.
func TestNoManager(t *testing.T) {
	s := NewSystem(t.TempDir())
	infos := []Info{{Name: "wlan0"}}
	s.askManager(t.Context(), infos)
	must(t, os.MkdirAll(filepath.Join(s.Root, "run/dbus"), 0o755))
	l, err := net.Listen("unix", s.busSocket())
	must(t, err)
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_ = c.Close()
			}
		}
	}()
	s.askManager(t.Context(), infos)
	must(t, l.Close())
	if infos[0].managed != networkmanager.Unknown {
		t.Errorf("%+v", infos)
	}
}

// TestTetheredByDriver reads sysfs as a laptop has it beside a phone on a cable.
func TestTetheredByDriver(t *testing.T) {
	s := System{Root: t.TempDir()}
	for name, driver := range map[string]string{"enx0": "rndis_host", "enx1": "ipheth", "enx2": "r8152", "enx3": "cdc_ether"} {
		dir := filepath.Join(s.Root, "sys/class/net", name, "device")
		must(t, os.MkdirAll(dir, 0o755))
		must(t, os.Symlink("../../../../bus/usb/drivers/"+driver, filepath.Join(dir, "driver")))
	}
	for name, want := range map[string]bool{"enx0": true, "enx1": true, "enx2": false, "enx3": false, "none": false} {
		if s.tetheredByDriver(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
