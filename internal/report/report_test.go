package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

func build(events []event.Event) Report {
	var b Builder
	for _, e := range events {
		b.Add(e)
	}
	return b.Report()
}

// runs are the event streams whose reports are in testdata.
func runs() map[string][]event.Event {
	return map[string][]event.Event{
		"two-links":    eventtest.TwoLinks(),
		"unknown-size": eventtest.UnknownSize(),
		"empty-file":   eventtest.Empty(),
		"many-files":   eventtest.ManyFiles(6),
		"nothing":      nil,
		"modelled":     tech(eventtest.TwoLinks(), "wifi", "lte"),
	}
}

// golden compares got with a file of testdata; UPDATE_GOLDEN=1 writes the file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

func TestGolden(t *testing.T) {
	for name, events := range runs() {
		r := build(events)
		var j, s bytes.Buffer
		if err := r.WriteJSON(&j); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json", j.Bytes())
		if err := WriteSummary(&s, r, Detail{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", s.Bytes())
		if i := strings.IndexFunc(s.String()+j.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%s: there is an unprintable character at %d", name, i)
		}
		var back Report
		if err := json.Unmarshal(j.Bytes(), &back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "two-links" && !reflect.DeepEqual(back, r) {
			t.Errorf("%s: JSON turned back is %+v", name, back)
		}
	}
}

// The names and their order are a contract with scripts.
func TestSchema(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{Report{}, "schema, version, url, effective_url, output, algorithm, energy_policy, http, started, " +
			"size_bytes, seconds, throughput_mbps, link_delta_seconds, wasted_bytes, resumed_bytes, requests, retries, " +
			"cpu_seconds, max_rss_bytes, voluntary_switches, wakeups_per_second, exit_code, error, policy, links, files_total, files_done, files, tuning, power, power_unavailable, energy, energy_unavailable"},
		{Link{}, "name, bind, state, reason, bytes, seconds, finished_seconds, throughput_mbps, peak_mbps, bandwidth_mbps, rtt_ms, " +
			"requests, retries, connections, reads, local_addr, remote_addr"},
		{Power{}, "source, interval_seconds, samples, base_watts, median_watts, p90_watts, peak_watts, base_measured, refresh_seconds"},
		{Energy{}, "modelled, total_joules, dynamic_joules, tail_joules, joules_per_100mb, mbps_per_joule, tcp_computation_joules, per_link, " +
			"full_load_watts, utilisation, tail_seconds, tail_cut, covered, e_d_joules_low, e_d_joules_high, partial, not_measured"},
		{LinkEnergy{}, "modelled, model, source, dynamic_joules, tail_joules, tcp_computation_joules"},
	} {
		typ := reflect.TypeOf(c.value)
		var names []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
		if got := strings.Join(names, ", "); got != c.want {
			t.Errorf("%s has %s, want %s", typ.Name(), got, c.want)
		}
	}
}

// docs/report.schema.json names the same fields, and as required those that are
// always there.
func TestSchemaFile(t *testing.T) {
	type object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	data, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		value any
		said  object
	}{
		{Report{}, schema.object},
		{Policy{}, schema.Defs["policy"]},
		{Link{}, schema.Defs["link"]},
		{File{}, schema.Defs["file"]},
		{Tuning{}, schema.Defs["tuning"]},
		{scheduler.Plan{}, schema.Defs["plan"]},
		{scheduler.Share{}, schema.Defs["share"]},
		{Power{}, schema.Defs["power"]},
		{Energy{}, schema.Defs["energy"]},
		{LinkEnergy{}, schema.Defs["link_energy"]},
	} {
		typ := reflect.TypeOf(c.value)
		var required []string
		for i := range typ.NumField() {
			name, option, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if _, ok := c.said.Properties[name]; !ok {
				t.Errorf("%s: %s is not in the schema", typ.Name(), name)
			}
			if option == "" {
				required = append(required, name)
			}
		}
		if len(c.said.Properties) != typ.NumField() {
			t.Errorf("%s has %d fields, the schema %d", typ.Name(), typ.NumField(), len(c.said.Properties))
		}
		if !reflect.DeepEqual(required, c.said.Required) {
			t.Errorf("%s: always there are %v, the schema says %v", typ.Name(), required, c.said.Required)
		}
	}
}

// Numbers that can be told from the run's description in eventtest by hand.
func TestDefinitions(t *testing.T) {
	r := build(eventtest.TwoLinks())
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"seconds: 0.1 to 5.1", r.Seconds, 5},
		{"throughput: 75 MB, without waste and what was resumed", r.ThroughputMbps, 120},
		{"Link Δ: 5.0 to 5.1", r.LinkDeltaSeconds, 0.1},
		{"waste", float64(r.WastedBytes), 1e6},
		{"resumed", float64(r.ResumedBytes), 25e6},
		{"size", float64(r.SizeBytes), 100e6},
		{"requests", float64(r.Requests), 4},
		{"retries", float64(r.Retries), 1},
		{"wlan0: bytes", float64(r.Links[0].Bytes), 50e6},
		{"wlan0: seconds, from 0.12", r.Links[0].Seconds, 4.98},
		{"wlan0: finished", r.Links[0].FinishedSeconds, 5},
		{"wlan0: throughput", r.Links[0].ThroughputMbps, 80.321285},
		{"wlan0: peak", r.Links[0].PeakMbps, 88},
		{"wlan0: bandwidth", r.Links[0].BandwidthMbps, 84},
		{"wlan0: RTT as the transport counted it", r.Links[0].RTTMs, 16},
		{"rmnet0: bytes", float64(r.Links[1].Bytes), 25e6},
		{"rmnet0: retries", float64(r.Links[1].Retries), 1},
		{"rmnet0: connections", float64(r.Links[1].Connections), 2},
		{"usb0: bytes", float64(r.Links[2].Bytes), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}
}

func TestLinkDelta(t *testing.T) {
	request := func(link scheduler.LinkID, bytes, wasted int64, last scheduler.Time) []event.Event {
		return []event.Event{
			event.RequestStarted{At: 10, Link: link},
			event.RequestEnded{At: last, Link: link, Bytes: bytes, Wasted: wasted, Sent: 10, LastByte: last},
		}
	}
	const s = scheduler.Second
	for _, c := range []struct {
		name     string
		requests [][]event.Event
		want     float64
	}{
		{"no link", nil, 0},
		{"one link", [][]event.Event{request(0, 5, 0, 1*s), request(0, 5, 0, 9*s)}, 0},
		{"two links", [][]event.Event{request(0, 5, 0, 1*s), request(1, 5, 0, 3*s), request(0, 5, 0, 2*s)}, 1},
		{"three links: first and last", [][]event.Event{request(0, 5, 0, 1*s), request(1, 5, 0, 3*s), request(2, 5, 0, 7*s)}, 6},
		{"a link with only waste", [][]event.Event{request(0, 5, 0, 1*s), request(1, 5, 5, 3*s)}, 0},
		{"a link that carried nothing", [][]event.Event{request(0, 5, 0, 1*s), request(1, 0, 0, 0)}, 0},
		{"waste after the last byte that counts", [][]event.Event{request(0, 5, 0, 1*s), request(1, 5, 0, 2*s), request(1, 3, 3, 8*s)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var events []event.Event
			for _, r := range c.requests {
				events = append(events, r...)
			}
			if got := build(events).LinkDeltaSeconds; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLinkStates(t *testing.T) {
	changed := func(s event.LinkState) event.Event { return event.LinkChanged{State: s} }
	carried := event.RequestEnded{Bytes: 10, LastByte: 5}
	for _, c := range []struct {
		name   string
		events []event.Event
		want   event.LinkState
	}{
		{"nothing said, nothing carried", nil, event.LinkUnused},
		{"nothing said, bytes carried", []event.Event{carried}, event.LinkUsed},
		{"said to be used, nothing carried", []event.Event{changed(event.LinkUsed)}, event.LinkUnused},
		{"used, then banned", []event.Event{changed(event.LinkUsed), carried, changed(event.LinkBanned)}, event.LinkBanned},
		{"banned, then used again", []event.Event{carried, changed(event.LinkBanned), changed(event.LinkUsed)}, event.LinkUsed},
		{"lost before it carried anything", []event.Event{changed(event.LinkLost)}, event.LinkLost},
		{"allowance spent", []event.Event{carried, changed(event.LinkCapped)}, event.LinkCapped},
		{"a word from a hostile record", []event.Event{changed("\x1b[2J")}, event.LinkUnused},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := build(append([]event.Event{event.RunStarted{Links: []event.LinkInfo{{Name: "a"}}}}, c.events...))
			if got := r.Links[0].State; got != string(c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Two files at once share a link: its rate is their sum.
func TestRatesAddUp(t *testing.T) {
	sample := func(file event.FileID, rate float64) event.Event {
		return event.Sample{File: file, Links: []event.LinkSample{{Rate: rate, Bandwidth: 2 * rate}}}
	}
	r := build([]event.Event{
		sample(0, 1e6), sample(1, 2e6), sample(0, 3e6), event.FileEnded{File: 0}, sample(0, 9e9), sample(1, 1.5e6),
	})
	if got := r.Links[0].PeakMbps; got != 40 {
		t.Errorf("peak %v, want 40: 3 + 2 MB/s", got)
	}
	if got := r.Links[0].BandwidthMbps; got != 24 {
		t.Errorf("bandwidth %v, want 24: the second file's last", got)
	}
}

func TestWatch(t *testing.T) {
	var bus event.Bus
	sub := bus.Subscribe()
	for _, e := range eventtest.TwoLinks() {
		bus.Publish(e)
	}
	bus.Close()
	var b Builder
	b.Watch(sub)
	if got, want := b.Report(), build(eventtest.TwoLinks()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, again := b.Report(), b.Report(); !reflect.DeepEqual(got, again) {
		t.Error("asked twice, the report differs")
	}
}

// Events may come from an invented record: whatever they hold, in whatever order and part they
// come, a report can be written.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}, int64(1<<62), 1e300)
	f.Add([]byte{0, 131, 3, 3, 131, 7, 13}, int64(1), 1.0)
	f.Add([]byte{7, 7, 10, 7}, int64(-1), math.Inf(1))
	f.Add([]byte{6, 5, 6}, int64(math.MinInt64), math.NaN())
	f.Fuzz(func(t *testing.T, order []byte, n int64, x float64) {
		var b Builder
		every := eventtest.Every()
		for _, i := range order {
			e := every[int(i)%len(every)]
			if i >= 128 {
				e = distort(e, n, x)
			}
			b.Add(e)
		}
		r := b.Report()
		var j bytes.Buffer
		if err := r.WriteJSON(&j); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(j.Bytes()) {
			t.Fatalf("not JSON: %s", j.Bytes())
		}
		if r.Seconds < 0 || r.LinkDeltaSeconds < 0 {
			t.Fatalf("time runs backwards: %+v", r)
		}
		if err := WriteSummary(&j, r, Detail{Verbose: true}); err != nil {
			t.Fatal(err)
		}
	})
}

// distort sets every number of e to n or x.
func distort(e event.Event, n int64, x float64) event.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	for i := range v.NumField() {
		f := v.Field(i)
		if f.CanInt() {
			f.SetInt(n)
		} else if f.CanFloat() {
			f.SetFloat(x)
		} else if s, ok := f.Interface().([]event.LinkSample); ok {
			s[0] = event.LinkSample{Bytes: n, Wasted: -n, Rate: x, Bandwidth: x, RTT: time.Duration(n)}
		}
	}
	return v.Interface().(event.Event)
}

// A link that joins is in the report, behind those of the start; the event of
// these stays as it was.
func TestLinkJoined(t *testing.T) {
	links := make([]event.LinkInfo, 1, 4)
	links[0] = event.LinkInfo{Name: "rmnet0", Bind: "device"}
	r := build([]event.Event{
		event.RunStarted{Links: links},
		event.LinkJoined{At: 5, Link: 1, Info: event.LinkInfo{Name: "wlan0", Bind: "address"}},
		event.LinkJoined{At: 5, Link: 1, Info: event.LinkInfo{Name: "once more"}},
		event.LinkJoined{At: 5, Link: 7, Info: event.LinkInfo{Name: "out of order"}},
		event.RequestEnded{Link: 1, Bytes: 10, LastByte: 9},
	})
	if len(r.Links) < 2 || r.Links[0].Name != "rmnet0" || r.Links[1].Name != "wlan0" || r.Links[1].Bind != "address" || r.Links[1].Bytes != 10 {
		t.Errorf("%+v", r.Links)
	}
	if links[:2][1].Name != "" {
		t.Error("the first event was written to")
	}
}

// A sum of floating-point numbers may end a hair below 0.
func TestRoundGivesNoNegativeZero(t *testing.T) {
	for _, x := range []float64{-1e-9, 1e-9, 0, math.Copysign(0, -1), math.NaN()} {
		if r := round(x); r != 0 || math.Signbit(r) {
			t.Errorf("round(%v) is %v", x, r)
		}
	}
}
