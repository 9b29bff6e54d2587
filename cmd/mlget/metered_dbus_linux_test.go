package main_test

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"

	"github.com/mlget/mlget/internal/linklab"
)

// TestAutoAsksNetworkManager: what NetworkManager says on the system's bus, a real
// dbus-daemon's, decides: Wi-Fi that is a phone's is left out, and cellular whose
// user has said that it is free is taken.
func TestAutoAsksNetworkManager(t *testing.T) {
	t.Parallel()
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip(err)
	}
	socket := filepath.Join(t.TempDir(), "bus")
	d := exec.Command(daemon, "--session", "--nofork", "--nopidfile", "--nosyslog", "--address=unix:path="+socket, "--print-address=1")
	out, err := d.StdoutPipe()
	must(t, err)
	must(t, d.Start())
	t.Cleanup(func() {
		_ = d.Process.Kill()
		_ = d.Wait()
	})
	_, err = bufio.NewReader(out).ReadString('\n')
	must(t, err)
	conn, err := dbus.Connect("unix:path=" + socket)
	must(t, err)
	t.Cleanup(func() { must(t, conn.Close()) })
	const manager, devices = "/org/freedesktop/NetworkManager", "/org/freedesktop/NetworkManager/Devices/"
	must(t, conn.ExportMethodTable(map[string]any{"GetDeviceByIpIface": func(name string) (dbus.ObjectPath, *dbus.Error) {
		return dbus.ObjectPath(devices + name), nil
	}}, manager, "org.freedesktop.NetworkManager"))
	const userSaysNo, guessedYes = uint32(2), uint32(3)
	for name, metered := range map[string]uint32{"wlan0": guessedYes, "rmnet0": userSaysNo} {
		must(t, conn.ExportMethodTable(map[string]any{"Get": func(string, string) (dbus.Variant, *dbus.Error) {
			return dbus.MakeVariant(metered), nil
		}}, dbus.ObjectPath(devices+name), "org.freedesktop.DBus.Properties"))
	}
	_, err = conn.RequestName("org.freedesktop.NetworkManager", dbus.NameFlagDoNotQueue)
	must(t, err)

	l := startLab(t, linklab.Config{Size: 2e6}, fastWiFi, fastLTE)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, "mlget", "-o", "out.bin", "--report", "r.json", l.URL())
	c.Dir, c.Env = l.dir, append(c.Env, "DBUS_SYSTEM_BUS_ADDRESS=unix:path="+socket)
	finish(t, c, c.Cmd).want(t, 0, `^mlget: wlan0 \(NetworkManager\) is left out`)
	l.wantBody(t)
	if r := readReport(t, filepath.Join(l.dir, "r.json")); len(r.Links) != 1 || r.Links[0].Name != "rmnet0" {
		t.Errorf("%+v", r.Links)
	}
}
