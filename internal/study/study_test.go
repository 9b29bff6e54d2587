package study

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/pkg/scheduler"
)

func recorded(t testing.TB, events []event.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w := record.NewWriter(&b)
	for _, e := range events {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readText(t testing.TB, text []byte) *Run {
	t.Helper()
	runs, err := read(bytes.NewReader(text), energy.Models{})
	if err != nil || len(runs) != 1 {
		t.Fatal(len(runs), err)
	}
	return runs[0]
}

func near(a, b, off float64) bool { return math.Abs(a-b) <= off }

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

func TestMeter(t *testing.T) {
	var m meter
	var total float64
	add := func(from, to, bytes float64) {
		m.add(from, to, bytes)
		total += bytes
	}
	add(0, 1, 1000)
	add(0.1, 0.15, 500)
	add(3.3, 3.3, 20)
	add(2, 1, 30) // a record may say so
	add(-5, 0.5, 40)
	if got := sum(m.bytes); !near(got, total, 1e-6) {
		t.Errorf("%v bytes of %v", got, total)
	}
	if got := m.mbps()[1]; m.step != 0.2 || !near(got, (200+40*0.4)*8/1e6/0.2, 1e-5) {
		t.Errorf("%v Mbit/s in the second step", got)
	}
	add(5000, 9000, 4000)
	if got := sum(m.bytes); !near(got, total, 1e-6) || len(m.bytes) > maxSteps {
		t.Errorf("%v bytes of %v in %d steps", got, total, len(m.bytes))
	}
	for _, hostile := range []float64{math.Inf(1), math.NaN(), 1e300, -1} {
		m.add(0, hostile, 1)
	}
	m.add(0, 1, -5)
	if got := sum(m.bytes); !near(got, total, 1e-6) {
		t.Errorf("%v bytes after what cannot be", got)
	}
}

func TestPointsAreBounded(t *testing.T) {
	var p points
	for i := range 100_000 {
		p.add(float64(i), float64(2*i))
	}
	p.add(math.NaN(), 1)
	p.add(1, math.NaN())
	if len(p.kept) > maxPoints || len(p.kept) < maxPoints/2 {
		t.Fatalf("%d points", len(p.kept))
	}
	step := p.kept[1].X - p.kept[0].X
	for i, q := range p.kept {
		if q.Y != 2*q.X || i > 0 && q.X-p.kept[i-1].X != step {
			t.Fatalf("point %d is %v", i, q)
		}
	}
	if last := p.kept[len(p.kept)-1].X; last < 99_000 {
		t.Errorf("the last point is that of %v", last)
	}
}

func TestRecord(t *testing.T) {
	run := readText(t, recorded(t, eventtest.TwoLinks()))
	if !run.Complete() || run.problem() != "" {
		t.Errorf("complete %v, %q", run.Complete(), run.problem())
	}
	// What the links carried, waste included.
	for i, want := range []float64{51e6, 25e6} {
		tr := run.Traces[i]
		if got := sum(tr.Mbps) * tr.Step * 1e6 / 8; !near(got, want, 1) {
			t.Errorf("%s carried %v bytes, want %v", tr.Link, got, want)
		}
	}
	if run.Traces[2].Mbps != nil && sum(run.Traces[2].Mbps) > 0 {
		t.Error("a link that carried nothing has a trace")
	}
	var b report.Builder
	for _, e := range eventtest.TwoLinks() {
		b.Add(e)
	}
	if want := b.Report(); want.Seconds != run.Report.Seconds || want.LinkDeltaSeconds != run.Report.LinkDeltaSeconds {
		t.Errorf("the report differs from the run's own")
	}
}

func TestManyFilesAddUp(t *testing.T) {
	run := readText(t, recorded(t, eventtest.ManyFiles(100)))
	var got, want float64
	for _, tr := range run.Traces {
		got += sum(tr.Mbps) * tr.Step * 1e6 / 8
	}
	for _, l := range run.Report.Links {
		want += float64(l.Bytes)
	}
	if !near(got, want, 1) || want == 0 {
		t.Errorf("traces hold %v bytes, the report %v", got, want)
	}
}

// Samples of a batch are of all its files together; one that is fetched by itself has
// its own.
func TestBatchAddsUp(t *testing.T) {
	const ms = scheduler.Millisecond
	events := []event.Event{
		event.RunStarted{Version: "1", Algorithm: "3", Links: []event.LinkInfo{{Name: "a"}}, Files: 100},
		event.FileStarted{At: 1},
	}
	var total int64
	sample := func(at scheduler.Time, file event.FileID, bytes int64) {
		events = append(events, event.Sample{At: at, File: file, Links: []event.LinkSample{{Bytes: bytes}}})
	}
	for i := range event.FileID(100) {
		at := scheduler.Time(i+1) * 100 * ms
		if i == 40 {
			sample(at-50*ms, i, 500)
		}
		events = append(events, event.RequestStarted{At: at - 90*ms, File: i, End: 1000},
			event.RequestEnded{At: at, File: i, Bytes: 1000, Sent: at - 90*ms, FirstByte: at - 80*ms, LastByte: at})
		total += 1000
		if i%3 == 0 {
			own := int64(0) // of file 40, which is none of the batch's
			if i >= 40 {
				own = 1000
			}
			sample(at+10*ms, -1, total-own+300) // some of the next file is there
		}
		events = append(events, event.FileEnded{At: at + 20*ms, File: i, Size: 1000})
	}
	run := readText(t, recorded(t, events))
	if got := sum(run.Traces[0].Mbps) * run.Traces[0].Step * 1e6 / 8; !near(got, float64(total), 301) {
		t.Errorf("the trace holds %v bytes of %d", got, total)
	}
}

func TestUsageAndPower(t *testing.T) {
	const s = scheduler.Second
	events := []event.Event{
		event.RunStarted{Version: "1", Algorithm: "3", Links: []event.LinkInfo{{Name: "a"}}, Files: 1},
		event.Power{At: 0, Source: "battery", Watts: 1},
		event.Usage{At: 1 * s, CPU: 0, RSS: 100 << 10},
		event.FileStarted{At: 2 * s},
		event.RequestStarted{At: 2 * s, End: 100},
		event.Usage{At: 2 * s, CPU: s1(0.1), RSS: 200 << 10},
		event.Power{At: 3 * s, Source: "battery", Watts: 3},
		event.Power{At: 3 * s, Source: "battery", Watts: 30, External: true},
		event.Usage{At: 4 * s, CPU: s1(1.1), RSS: 400 << 10},
		event.RequestEnded{At: 6 * s, Bytes: 100, Outcome: event.OutcomeDone, Sent: 2 * s, FirstByte: 3 * s, LastByte: 6 * s},
		event.Usage{At: 6 * s, CPU: s1(1.5), RSS: 300 << 10},
		event.FileEnded{At: 6 * s, Size: 100},
		event.RunEnded{At: 7 * s, CPU: s1(1.5), MaxRSS: 400 << 10},
	}
	run := readText(t, recorded(t, events))
	if want := []Point{{1, 50}, {3, 20}}; !slices.EqualFunc(run.CPU, want, func(a, b Point) bool { return near(a.X, b.X, 1e-9) && near(a.Y, b.Y, 1e-9) }) {
		t.Errorf("CPU %v, want %v", run.CPU, want)
	}
	if want := []Point{{-2, 1}, {1, 3}}; !slices.Equal(run.Watts, want) {
		t.Errorf("power %v, want %v", run.Watts, want)
	}
	study := New([]*Run{run}, nil)
	for name, want := range map[string]float64{
		Seconds: 4, CPUMedian: 35, CPUMax: 50, CPUIntegral: 140, MemoryMedian: 300, MemoryPeak: 400,
		MemoryIntegral: 2*300 + 2*350, // 200 to 400 in 2 s, 400 to 300 in 2 s
	} {
		if got := study.Approaches[0].Value(name).Median; !near(float64(got), want, 1e-6) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func TestCounterOfEnergy(t *testing.T) {
	const s = scheduler.Second
	run := readText(t, recorded(t, []event.Event{
		event.RunStarted{Version: "1", Links: []event.LinkInfo{{Name: "a"}}},
		event.FileStarted{At: 1 * s},
		event.Power{At: 1 * s, Source: "rapl", Counter: true},
		event.Power{At: 3 * s, Source: "rapl", Counter: true, Joules: 8, Watts: 4, Over: 2e9},
		event.Power{At: 4 * s, Source: "rapl", Counter: true, Joules: 9, Watts: 1, Over: 1e9},
	}))
	if want := []Point{{1, 4}, {2.5, 1}}; !slices.Equal(run.Watts, want) {
		t.Errorf("power %v, want %v", run.Watts, want)
	}
}

func TestBadFiles(t *testing.T) {
	whole := recorded(t, eventtest.TwoLinks())
	cut := whole[:len(whole)/2]
	broken := slices.Concat(cut, []byte("\n{]\n"), whole[len(whole)/2:])
	late := bytes.Replace(whole, []byte(`"schema":1`), []byte(`"schema":9`), 1)
	for _, c := range []struct {
		name string
		text []byte
		err  error
		said string // of what is wrong with the run
	}{
		{"whole", whole, nil, ""},
		{"cut", cut, nil, "cut off"},
		{"ended by force", whole[:bytes.LastIndexByte(whole[:len(whole)-1], '\n')+1], nil, "did not end"},
		{"broken", broken, nil, "line "},
		{"empty", nil, ErrForeign, ""},
		{"picture", []byte("\x89PNG\r\n\x1a\n"), ErrForeign, ""},
		{"other JSON", []byte(`{"name":"x"}`), ErrForeign, ""},
		{"other lines", []byte(`{"event":"click"}` + "\n"), ErrForeign, ""},
		{"later record", late, record.ErrSchema, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs, err := read(bytes.NewReader(c.text), energy.Models{})
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if err != nil {
				return
			}
			run := runs[0]
			if got := run.problem(); (got == "") != (c.said == "") || !strings.Contains(got, c.said) {
				t.Errorf("problem %q, want %q", got, c.said)
			}
			if len(run.Traces) == 0 || sum(run.Traces[0].Mbps) == 0 {
				t.Error("what is good of it is lost")
			}
		})
	}
	if _, err := readReport(strings.NewReader(`{"schema":2,"version":"3"}`)); err == nil || !strings.Contains(err.Error(), "schema 2") {
		t.Errorf("a later report: %v", err)
	}
}

func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var b report.Builder
	for _, e := range eventtest.TwoLinks() {
		b.Add(e)
	}
	var text bytes.Buffer
	if err := b.Report().WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	write("runs/a.jsonl", recorded(t, eventtest.TwoLinks()))
	write("runs/a.json", text.Bytes())
	other := b.Report()
	other.Started = other.Started.Add(time.Second)
	var otherText bytes.Buffer
	if err := other.WriteJSON(&otherText); err != nil {
		t.Fatal(err)
	}
	write("runs/b.json", otherText.Bytes())
	write("runs/plan.json", []byte(`{"url":"x"}`))
	write("runs/notes.txt", []byte("x"))
	write("runs/deep/c.jsonl", []byte("nonsense"))
	write("empty/notes.txt", []byte("x"))
	runs, errs := Read(t.Context(), []string{filepath.Join(dir, "runs"), filepath.Join(dir, "empty"), filepath.Join(dir, "none.jsonl")}, energy.Models{})
	var names []string
	for _, r := range runs {
		names = append(names, filepath.Base(r.Name))
		if r.Source != "runs" {
			t.Errorf("%s is of %s", r.Name, r.Source)
		}
	}
	if !slices.Equal(names, []string{"a.jsonl", "b.json"}) {
		t.Errorf("runs %v", names)
	}
	// A run counts once, as a shell names it too, wherever its report lies.
	write("elsewhere/report.json", text.Bytes())
	again, _ := Read(t.Context(), []string{
		filepath.Join(dir, "elsewhere", "report.json"), filepath.Join(dir, "runs", "a.json"), filepath.Join(dir, "runs", "a.jsonl"),
		filepath.Join(dir, "runs", ".", "a.jsonl"), filepath.Join(dir, "runs"),
	}, energy.Models{})
	if len(again) != 2 || len(again[0].Traces) == 0 || again[1].Report.Started.Equal(again[0].Report.Started) {
		t.Errorf("%d runs of two", len(again))
	}
	err := errors.Join(errs...)
	if len(errs) != 3 || !errors.Is(err, ErrNoRuns) || !errors.Is(err, ErrForeign) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("errors %v", errs)
	}
	if s := New(runs, nil); len(s.Approaches) != 1 || s.Approaches[0].Runs != 2 || s.Approaches[0].Value(Seconds).N != 2 {
		t.Errorf("%+v", s.Approaches)
	}
}

// Symbolic links lead to what they lead to, and make nothing twice of it.
func TestLinkedNames(t *testing.T) {
	dir := t.TempDir()
	record := filepath.Join(dir, "runs", "a.jsonl")
	if err := os.Mkdir(filepath.Dir(record), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, recorded(t, eventtest.TwoLinks()), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, again := filepath.Join(dir, "folder"), filepath.Join(dir, "again.jsonl")
	if err := errors.Join(os.Symlink("runs", folder), os.Symlink(record, again)); err != nil {
		t.Skip(err)
	}
	for _, names := range [][]string{{folder}, {folder, record, again}, {again, filepath.Dir(record)}} {
		runs, errs := Read(t.Context(), names, energy.Models{})
		if len(runs) != 1 || len(errs) > 0 {
			t.Fatalf("%v: %d runs, %v", names, len(runs), errs)
		}
	}
	runs, _ := Read(t.Context(), []string{folder}, energy.Models{})
	if r := runs[0]; r.Name != filepath.Join(folder, "a.jsonl") || r.Source != "folder" {
		t.Errorf("%s of %s", r.Name, r.Source)
	}
}

// A report that is named counts, whatever a directory has beside it.
func TestReportBesideABrokenRecord(t *testing.T) {
	dir := t.TempDir()
	named := filepath.Join(dir, "a.json")
	err := errors.Join(os.WriteFile(named, []byte(`{"schema":1,"version":"1","seconds":1}`), 0o600), os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte("nonsense"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][]string{{dir, named}, {named, dir}} {
		if runs, errs := Read(t.Context(), names, energy.Models{}); len(runs) != 1 || len(errs) != 1 {
			t.Errorf("%v: %d runs, %v", names, len(runs), errs)
		}
	}
}

// s1 is s in ns.
func s1(s float64) time.Duration { return time.Duration(s * 1e9) }
