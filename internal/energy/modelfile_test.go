package energy

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func TestParseModels(t *testing.T) {
	data, err := os.ReadFile("testdata/models.json")
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseModels(data)
	if err != nil {
		t.Fatal(err)
	}
	if m.Device != "Pixel 8" || m.Source != "ODPM, 30 downloads, 2026-11" {
		t.Errorf("got %q, %q", m.Device, m.Source)
	}
	lte, ok := m.Lookup("lte")
	built, _ := Lookup("lte-2021")
	built.Name, built.Source, built.Like = "lte", m.Source, "lte-2021"
	built.Down, built.PerConn, built.TailTime = 13.2, 4, 10500*time.Millisecond
	if !ok || lte != built {
		t.Errorf("lte: %+v, want %+v", lte, built)
	}
	wifi, ok := m.Lookup("wifi")
	if built, _ := Lookup("wifi"); !ok || wifi != built {
		t.Errorf("wifi is not the one that is built in: %+v", wifi)
	}
	home, ok := m.Lookup("wifi-home")
	if !ok || home.Active != 310 || home.Tail != 119.3 || home.TailTime != 40*time.Millisecond || home.Hold != home.TailTime {
		t.Errorf("wifi-home: %+v", home)
	}
	if names := m.Names(); names[len(names)-1] != "wifi-home" || len(names) != len(Names())+1 {
		t.Errorf("names: %v", names)
	}
	if tcp := m.TCP(); tcp.NICCopy != 3.5 || tcp.Processing != 2 || tcp.Name != "file" {
		t.Errorf("tcp: %+v", tcp)
	}
	var zero Models
	if r, ok := zero.Lookup("lte"); !ok || r.Name != "lte" || len(zero.Names()) != len(Names()) || zero.TCP().Name != "ipaq" {
		t.Errorf("the zero value: %+v", r)
	}
}

// A file may describe links by their own names, which take precedence over their technologies;
// a radio with nothing but like gets that model.
func TestModelsOfLinks(t *testing.T) {
	m, err := ParseModels([]byte(`{"source":"mine","radios":{
		"wlan0":{"like":"wifi-s7-mean"},"v4-rmnet_data0.1":{"like":"nr","tail_mw":100},"lte":{"like":"lte-2021"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ link, tech, name, source, like string }{
		{"wlan0", "wifi", "wifi-s7-mean", thesisMeans, ""},
		{"wlan0", "ethernet", "wifi-s7-mean", thesisMeans, ""},
		{"wlan1", "wifi", "wifi", huang, ""},
		{"rmnet0", "lte", "lte-2021", narayanan, ""},
		{"v4-rmnet_data0.1", "lte", "v4-rmnet_data0.1", "mine", "nr"},
	} {
		r, ok := m.Of(tt.link, tt.tech)
		if !ok || r.Name != tt.name || r.Source != tt.source || r.Like != tt.like {
			t.Errorf("%s, %s: %+v, %v", tt.link, tt.tech, r, ok)
		}
	}
	if r, ok := m.Of("tun0", ""); ok {
		t.Errorf("a link of which nothing is known: %+v", r)
	}
}

func TestParseModelsRefuses(t *testing.T) {
	for _, tt := range []struct{ data, want string }{
		{``, "not JSON: it ends too early"},
		{`{`, "not JSON: it ends too early"},
		{`[]`, "must be an object: {...}"},
		{`null`, "must be an object: {...}"},
		{`{"radios":{},}`, "not JSON: invalid character"},
		{`{} {}`, "something follows the closing brace"},
		{`{"tail":1}`, "tail: no such field"},
		{`{"device":1}`, "device: must be a string"},
		{`{"device":"a","device":"b"}`, "device: is there twice"},
		{`{"device":"\u001b[2J"}`, "device: must not hold characters that do not print"},
		{`{"source":"` + strings.Repeat("x", 201) + `"}`, "source: must not be longer than 200 bytes"},
		{`{"radios":[]}`, "radios: must be an object: {...}"},
		{`{"radios":{"lte":3}}`, "radios.lte: must be an object: {...}"},
		{`{"radios":{"lte":{},"lte":{}}}`, "radios.lte: is there twice"},
		{`{"radios":{"LTE 1":{}}}`, `radios."LTE 1": a name is 1 to 32 letters, digits, -, . and _`},
		{`{"radios":{"rmnet0":{}}}`, `radios.rmnet0: no model "rmnet0" is built in: say "like" one of wifi, `},
		{`{"radios":{"\u001b[2J":{}}}`, `radios."\x1b[2J": a name is`},
		{`{"radios":{"wimax":{}}}`, `radios.wimax: no model "wimax" is built in: say "like" one of wifi, `},
		{`{"radios":{"lte":{"like":"wimax"}}}`, `radios.lte: no model "wimax" is built in`},
		{`{"radios":{"lte":{"like":4}}}`, "radios.lte.like: must be a string"},
		{`{"radios":{"lte":{"tail":1}}}`, "radios.lte.tail: no such field"},
		{`{"radios":{"lte":{"tail_ms":-1}}}`, "radios.lte.tail_ms: must not be negative"},
		{`{"radios":{"lte":{"tail_ms":"1"}}}`, "radios.lte.tail_ms: must be a number"},
		{`{"radios":{"lte":{"tail_ms":null}}}`, "radios.lte.tail_ms: must be a number"},
		{`{"radios":{"lte":{"tail_ms":NaN}}}`, "not JSON: invalid character 'N'"},
		{`{"radios":{"lte":{"tail_ms":600001}}}`, "radios.lte.tail_ms: must not be more than 600000"},
		{`{"radios":{"lte":{"active_mw":1e999}}}`, "radios.lte.active_mw: must not be more than 100000"},
		{`{"radios":{"lte":{"down_mw_per_mbps":10001}}}`, "radios.lte.down_mw_per_mbps: must not be more than 10000"},
		{`{"radios":{"lte":{"tail_ms":50,"hold_ms":51}}}`, "radios.lte.hold_ms: is longer than the tail"},
		{`{"tcp_microjoules":{"ack":-1}}`, "tcp_microjoules.ack: must not be negative"},
		{`{"tcp_microjoules":{"mtu":1500}}`, "tcp_microjoules.mtu: no such field"},
		{strings.Repeat(" ", 1<<20) + "{}", "the file is larger than 1048576 bytes"},
	} {
		m, err := ParseModels([]byte(tt.data))
		if err == nil {
			t.Errorf("%.60s: taken: %+v", tt.data, m)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: got %q, want %q", tt.data, err, tt.want)
		}
	}
}

func FuzzParseModels(f *testing.F) {
	data, err := os.ReadFile("testdata/models.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"radios":{"lte":{"tail_ms":50,"hold_ms":51}}}`))
	f.Add([]byte(`{"radios":{"x":{"like":"ethernet","promotion_ms":1e-3,"tail_mw":1E5}},"tcp_microjoules":{"ack":0}}`))
	f.Add([]byte("{\"de\\u0076ice\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseModels(data)
		if err != nil {
			if text := err.Error(); text == "" || strings.ContainsAny(text, "\n\r\x1b") {
				t.Errorf("error %q", text)
			}
			return
		}
		// Whatever was taken must give sane energies.
		for _, name := range m.Names() {
			r, ok := m.Lookup(name)
			if !ok {
				t.Fatalf("%q is listed, but not there", name)
			}
			machine := NewMachine(r, 0)
			machine.Step(sec, 1e6, 1e3, 2)
			machine.Step(machine.IdleAt(), 0, 0, 2)
			e := machine.Energy()
			if total := e.Total(); !(total >= 0) || math.IsInf(total, 0) || machine.State() != Idle {
				t.Errorf("%+v: %g J, %v", r, total, machine.State())
			}
		}
		tcp := m.TCP()
		if j := tcp.Joules(TCPCounts{1, 1, 1, 1}); !(j >= 0) || math.IsInf(j, 0) {
			t.Errorf("%+v: %g J", tcp, j)
		}
	})
}
