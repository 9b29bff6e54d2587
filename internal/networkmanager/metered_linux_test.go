//go:build !android

package networkmanager

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The wire format is written out by hand from the D-Bus specification 0.43
// ("Message Protocol"), all little-endian.

// field is a header field: a byte for its code and a variant.
type field struct {
	code  byte
	kind  string // its type: o, s, g or u
	value string
	n     uint32
}

type wire struct{ b []byte }

func (w *wire) align(n int) {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
}

func (w *wire) uint32(n uint32) {
	w.align(4)
	w.b = binary.LittleEndian.AppendUint32(w.b, n)
}

func (w *wire) string(s string) {
	w.uint32(uint32(len(s)))
	w.b = append(append(w.b, s...), 0)
}

func (w *wire) signature(s string) {
	w.b = append(append(append(w.b, byte(len(s))), s...), 0)
}

// message is a whole message of a kind (2 method return, 3 error).
func message(kind byte, serial uint32, fields []field, body []byte) []byte {
	var list wire
	list.b = make([]byte, 16) // as far as the header goes before it, so that it is aligned as there
	for _, f := range fields {
		list.align(8)
		list.b = append(list.b, f.code)
		list.signature(f.kind)
		switch f.kind {
		case "u":
			list.uint32(f.n)
		case "g":
			list.signature(f.value)
		default:
			list.string(f.value)
		}
	}
	w := wire{[]byte{'l', kind, 0, 1}}
	w.uint32(uint32(len(body)))
	w.uint32(serial)
	w.uint32(uint32(len(list.b) - 16))
	w.b = append(w.b, list.b[16:]...)
	w.align(8)
	return append(w.b, body...)
}

// asked is what a method call asks for.
type asked struct {
	serial uint32
	flags  byte
	member string
	path   string
	words  []string // the strings at the beginning of its body
}

// readCall reads one method call.
func readCall(r io.Reader) (a asked, err error) {
	head := make([]byte, 16)
	if _, err := io.ReadFull(r, head); err != nil {
		return a, err
	}
	if head[0] != 'l' || head[1] != 1 || head[3] != 1 {
		return a, fmt.Errorf("header % x", head)
	}
	a.flags = head[2]
	bodyLen, fieldsLen := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint32(head[12:])
	a.serial = binary.LittleEndian.Uint32(head[8:])
	fields := make([]byte, (fieldsLen+7)&^7)
	body := make([]byte, bodyLen)
	if _, err := io.ReadFull(r, fields); err != nil {
		return a, err
	}
	if _, err := io.ReadFull(r, body); err != nil {
		return a, err
	}
	for at := 0; at < int(fieldsLen); {
		at = (at + 7) &^ 7
		code, kind := fields[at], fields[at+2]
		at += 4
		switch kind {
		case 'o', 's':
			n := int(binary.LittleEndian.Uint32(fields[at:]))
			value := string(fields[at+4 : at+4+n])
			at += 4 + n + 1
			switch code {
			case 1:
				a.path = value
			case 3:
				a.member = value
			}
		case 'g':
			at += int(fields[at]) + 2
		default:
			return a, fmt.Errorf("field %d has type %c", code, kind)
		}
	}
	for at := 0; at+4 <= len(body); {
		n := int(binary.LittleEndian.Uint32(body[at:]))
		a.words = append(a.words, string(body[at+4:at+4+n]))
		at = (at + 4 + n + 1 + 3) &^ 3
	}
	return a, nil
}

const uniqueName = ":1.7"

// fakeBus is a system bus with a NetworkManager, for one client. devices are the
// bodies and signatures of its answers about Metered, by interface.
func fakeBus(t *testing.T, answer func(a asked) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close() //nolint:errcheck // of a test
		r := bufio.NewReader(c)
		if b, err := r.ReadByte(); err != nil || b != 0 {
			return
		}
		for { // the "Authentication Protocol"
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			switch {
			case line == "AUTH": // which mechanisms there are
				_, _ = io.WriteString(c, "REJECTED EXTERNAL\r\n")
				continue
			case line == "AUTH EXTERNAL": // what dbus-daemon 1.14 answers
				_, _ = io.WriteString(c, "DATA\r\n")
				continue
			case line == "DATA", line == fmt.Sprintf("AUTH EXTERNAL %x", fmt.Sprint(os.Geteuid())):
				_, _ = io.WriteString(c, "OK 1234deadbeef1234deadbeef1234dead\r\n")
				continue
			case line == "BEGIN":
			default:
				_, _ = io.WriteString(c, "ERROR\r\n")
				continue
			}
			break
		}
		for {
			a, err := readCall(r)
			if err != nil {
				return
			}
			if b := answer(a); b != nil {
				_, _ = c.Write(b)
			}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return path
}

// returned is a method return with a body of one value.
func returned(a asked, signature string, body []byte) []byte {
	return message(2, a.serial+100, []field{
		{code: 5, kind: "u", n: a.serial},
		{code: 6, kind: "s", value: uniqueName},
		{code: 8, kind: "g", value: signature},
		{code: 7, kind: "s", value: ":1.3"},
	}, body)
}

func failed(a asked, name string) []byte {
	return message(3, a.serial+100, []field{
		{code: 5, kind: "u", n: a.serial}, {code: 6, kind: "s", value: uniqueName}, {code: 4, kind: "s", value: name},
	}, nil)
}

func stringBody(s string) []byte {
	var w wire
	w.string(s)
	return w.b
}

// variant is a body of a variant: a signature, and a value of 32 bits.
func variant(kind string, n uint32) []byte {
	var w wire
	w.signature(kind)
	w.uint32(n)
	return w.b
}

// manager answers as NetworkManager does that has these devices.
func manager(t *testing.T, metered map[string]func(a asked) []byte) func(asked) []byte {
	return func(a asked) []byte {
		const device = "/org/freedesktop/NetworkManager/Devices/"
		const noAutoStart = 2
		if a.member != "Hello" && a.flags&noAutoStart == 0 {
			t.Errorf("%s would start NetworkManager", a.member)
		}
		switch a.member {
		case "Hello":
			return returned(a, "s", stringBody(uniqueName))
		case "GetDeviceByIpIface":
			if a.path != "/org/freedesktop/NetworkManager" || len(a.words) != 1 {
				t.Errorf("%+v", a)
			}
			if metered[a.words[0]] == nil {
				return failed(a, "org.freedesktop.NetworkManager.UnknownDevice")
			}
			return returned(a, "o", stringBody(device+a.words[0]))
		case "Get":
			if len(a.words) != 2 || a.words[0] != "org.freedesktop.NetworkManager.Device" || a.words[1] != "Metered" {
				t.Errorf("%+v", a)
			}
			return metered[strings.TrimPrefix(a.path, device)](a)
		}
		return failed(a, "org.freedesktop.DBus.Error.UnknownMethod")
	}
}

func says(n uint32) func(asked) []byte {
	return func(a asked) []byte { return returned(a, "v", variant("u", n)) }
}

func TestAsk(t *testing.T) {
	socket := fakeBus(t, manager(t, map[string]func(asked) []byte{
		"wlan0": says(4), "wwan0": says(3), "eth0": says(2), "usb0": says(1), "br0": says(0),
	}))
	got, err := Ask(t.Context(), socket, []string{"wlan0", "wwan0", "eth0", "usb0", "br0", "ppp9"})
	if want := "map[br0:0 eth0:2 usb0:1 wlan0:4 wwan0:3]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v, want %s", got, err, want)
	}
}

// TestAskFails: a bus that is not there, does not answer or talks nonsense gives an
// error within the caller's time.
func TestAskFails(t *testing.T) {
	for name, answer := range map[string]func(a asked) []byte{
		"silence": func(asked) []byte { return nil },
		"no NetworkManager": func(a asked) []byte {
			if a.member == "Hello" {
				return returned(a, "s", stringBody(uniqueName))
			}
			return failed(a, "org.freedesktop.DBus.Error.ServiceUnknown")
		},
		"no number":     manager(t, map[string]func(asked) []byte{"wlan0": func(a asked) []byte { return returned(a, "v", variant("i", 1)) }}),
		"no path":       manager(t, map[string]func(asked) []byte{"wlan0": func(a asked) []byte { return returned(a, "s", stringBody("x")) }}),
		"cut short":     manager(t, map[string]func(asked) []byte{"wlan0": func(a asked) []byte { return returned(a, "v", []byte{1}) }}),
		"beyond bounds": func(asked) []byte { return []byte("l\x02\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff") },
		"noise":         func(asked) []byte { return []byte(strings.Repeat("HTTP/1.1 400 Bad Request\r\n", 4)) },
	} {
		socket := fakeBus(t, answer)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if got, err := Ask(ctx, socket, []string{"wlan0"}); err == nil || len(got) != 0 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		cancel()
	}
	if _, err := Ask(t.Context(), filepath.Join(t.TempDir(), "none"), []string{"wlan0"}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestAskSilentHandshake: a bus that accepts and says nothing at all.
func TestAskSilentHandshake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // of a test
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, path, []string{"wlan0"}); err == nil {
		t.Error("no error")
	}
}

// TestRealBus asks over a real dbus-daemon.
func TestRealBus(t *testing.T) {
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip(err)
	}
	socket := filepath.Join(t.TempDir(), "bus")
	cmd := exec.Command(daemon, "--session", "--nofork", "--nopidfile", "--nosyslog", "--address=unix:path="+socket, "--print-address=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if got, err := Ask(t.Context(), socket, []string{"wlan0"}); err == nil || !strings.Contains(err.Error(), "NetworkManager") {
		t.Errorf("without NetworkManager: %v, %v", got, err)
	}
	conn, err := dbus.Connect("unix:path=" + socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // of a test
	for path, methods := range map[dbus.ObjectPath]map[string]any{
		managerPath: {"GetDeviceByIpIface": func(name string) (dbus.ObjectPath, *dbus.Error) {
			if name != "wlan0" {
				return "/", dbus.NewError("org.freedesktop.NetworkManager.UnknownDevice", nil)
			}
			return "/org/freedesktop/NetworkManager/Devices/3", nil
		}},
		"/org/freedesktop/NetworkManager/Devices/3": {"Get": func(string, string) (dbus.Variant, *dbus.Error) {
			return dbus.MakeVariant(uint32(3)), nil
		}},
	} {
		name := service
		if methods["Get"] != nil {
			name = "org.freedesktop.DBus.Properties"
		}
		if err := conn.ExportMethodTable(methods, path, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.RequestName(service, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	got, err := Ask(t.Context(), socket, []string{"wlan0", "eth7"})
	if err != nil || fmt.Sprint(got) != "map[wlan0:3]" {
		t.Errorf("%v, %v", got, err)
	}
}
