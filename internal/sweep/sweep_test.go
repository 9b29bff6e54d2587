package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/results"
)

func small() Grid {
	return Grid{Concurrency: []int{1, 4}, Parallelism: []int{1, 2}, Block: []int64{1024, 16384}}
}

func TestPlanIsEverySettingOnceARound(t *testing.T) {
	g := Full()
	plan := Plan(g, 2, 7)
	if len(plan) != 2*7*6*7 {
		t.Fatalf("%d trials", len(plan))
	}
	seen := map[Trial]bool{}
	for i, tr := range plan {
		if seen[tr] || tr.Round != i/(7*6*7) {
			t.Fatalf("%d: %+v", i, tr)
		}
		seen[tr] = true
	}
	if !slices.Equal(plan, Plan(g, 2, 7)) || slices.Equal(plan, Plan(g, 2, 8)) {
		t.Error("the order is not the seed's")
	}
	if !slices.Equal(plan[:100], Plan(g, 5, 7)[:100]) {
		t.Error("more rounds change the order of the first")
	}
}

func TestGridCheck(t *testing.T) {
	if err := Full().Check(); err != nil {
		t.Error(err)
	}
	for _, g := range []Grid{
		{},
		{Concurrency: []int{1}, Parallelism: []int{1}},
		{Concurrency: []int{0}, Parallelism: []int{1}, Block: []int64{1}},
		{Concurrency: []int{1}, Parallelism: []int{2, 2}, Block: []int64{1}},
		{Concurrency: []int{1}, Parallelism: []int{1}, Block: []int64{-5}},
	} {
		if err := g.Check(); !errors.Is(err, ErrGrid) {
			t.Errorf("%+v: %v", g, err)
		}
	}
}

// made is a runner that needs no network.
type made struct {
	ran   []Setting
	after int // downloads until it fails; 0: never
	stop  context.CancelFunc
}

var errBroken = errors.New("broken")

func (m *made) Run(_ context.Context, s Setting) (Measure, string, error) {
	m.ran = append(m.ran, s)
	if m.after > 0 && len(m.ran) > m.after {
		if m.stop != nil {
			m.stop()
			return Measure{}, "stopped", nil
		}
		return Measure{}, "", errBroken
	}
	if s.Concurrency == 4 && s.Block == 1024 && s.Parallelism == 2 {
		return Measure{}, "no route", nil
	}
	seconds := 8 / float64(s.Concurrency)
	joules := 2 * seconds
	return Measure{Seconds: seconds, Bytes: 1e6, Joules: &joules, MedianWatts: &seconds}, "", nil
}

func session(t *testing.T, path string, r Runner) (*Session, Header) {
	t.Helper()
	h := Header{Schema: Schema, Grid: small(), Seed: 3, Target: "3 URLs"}
	j, err := results.Open[Header, Result](path, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return &Session{Plan: Plan(h.Grid, 2, 3), Journal: j, Runner: r, Progress: io.Discard}, h
}

// A sweep that is broken off goes on where it stopped, whatever stopped it, and
// runs nothing twice.
func TestGoesOnWhereItStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	first := &made{after: 5}
	s, _ := session(t, path, first)
	s.WarmUp = 2
	if err := s.Run(t.Context()); !errors.Is(err, errBroken) || len(s.Journal.Results) != 3 {
		t.Fatalf("%v, %d results", err, len(s.Journal.Results))
	}
	again := func(r Runner) {
		t.Helper()
		if err := s.Journal.Close(); err != nil {
			t.Fatal(err)
		}
		s, _ = session(t, path, r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	second := &made{after: 4, stop: cancel}
	again(second)
	if err := s.Run(ctx); !errors.Is(err, context.Canceled) || len(s.Journal.Results) != 7 {
		t.Fatalf("%v, %d results", err, len(s.Journal.Results))
	}
	// As if it had been killed while it wrote.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"concurrency":1,"par`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	third := &made{}
	again(third)
	if err := s.Run(t.Context()); err != nil || len(third.ran) != 16-7 {
		t.Fatalf("%v, %d downloads", err, len(third.ran))
	}
	seen := map[Trial]bool{}
	for _, r := range s.Journal.Results {
		seen[r.Trial] = true
	}
	if len(seen) != 16 || len(s.Journal.Results) != 16 {
		t.Errorf("%d of %d results are of different trials", len(seen), len(s.Journal.Results))
	}
	last := &made{}
	again(last)
	if err := s.Run(t.Context()); err != nil || len(last.ran) != 0 {
		t.Errorf("%v, %d downloads though all was done", err, len(last.ran))
	}
}

func TestJournalRefusesWhatIsNotItsOwn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	s, h := session(t, path, &made{})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Seed++
	if err := s.Journal.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Open[Header, Result](path, h); !errors.Is(err, results.ErrOther) {
		t.Errorf("another seed: %v", err)
	}
	for name, text := range map[string]string{
		"text":      "hello\n",
		"cut":       `{"sweep":1`,
		"other":     `{"bench":1}` + "\n",
		"version":   `{"sweep":9,"grid":{"concurrency":[1],"parallelism":[1],"block_bytes":[1]}}` + "\n",
		"no grid":   `{"sweep":1}` + "\n",
		"no result": headLine(t, h) + `{"concurrency":0}` + "\n",
		"no time":   headLine(t, h) + `{"concurrency":1,"parallelism":1,"block_bytes":1,"bytes":5}` + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := results.Open[Header, Result](path, h); !errors.Is(err, results.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != text {
			t.Errorf("%s was changed: %q, %v", name, left, err)
		}
	}
}

func headLine(t *testing.T, h Header) string {
	t.Helper()
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func TestTables(t *testing.T) {
	s, h := session(t, filepath.Join(t.TempDir(), "s.jsonl"), &made{})
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var md, csv, js bytes.Buffer
	if err := errors.Join(Markdown(&md, h, s.Journal.Results), CSV(&csv, h, s.Journal.Results), JSON(&js, h, s.Journal.Results)); err != nil {
		t.Fatal(err)
	}
	want := `
Throughput, Mbit/s; blocks of 1K

| files at once \ streams |        1 |        2 |
| ----------------------: | -------: | -------: |
|                       1 |     1.00 |     1.00 |
|                       4 |     4.00 |        – |
`
	if !strings.Contains(md.String(), want) || strings.Contains(md.String(), "peak") || !strings.Contains(md.String(), "16 downloads, 2 of them failed") {
		t.Errorf("no\n%s\nin\n%s", want, md.String())
	}
	if !strings.Contains(md.String(), "Dynamic energy, J/100 MB; 2 streams of a file") {
		t.Errorf("no block sizes in\n%s", md.String())
	}
	// 4 s at 2 W for 1 MB; its bytes have no peak.
	if !strings.Contains(csv.String(), "\n4,1,16384,2,0,4,0,400,,1,2,,0,0\n") || strings.Count(csv.String(), "\n") != 9 {
		t.Errorf("%s", csv.String())
	}
	var doc struct {
		Settings []map[string]any
		Results  []Result
	}
	if err := json.Unmarshal(js.Bytes(), &doc); err != nil || len(doc.Settings) != 8 || len(doc.Results) != 16 {
		t.Fatalf("%v\n%s", err, js.String())
	}
	if doc.Settings[0]["mbps"] != 1.0 || doc.Settings[0]["peak_watts"] != nil || doc.Settings[6]["mbps"] != nil {
		t.Errorf("%v", doc.Settings)
	}
}

func TestSummariseMedians(t *testing.T) {
	g := Grid{Concurrency: []int{1}, Parallelism: []int{1}, Block: []int64{1}}
	var done []Result
	for i, seconds := range []float64{1, 4, 2, 8} {
		done = append(done, Result{Trial: Trial{Setting{1, 1, 1}, i}, Measure: Measure{Seconds: seconds, Bytes: 1e6}})
	}
	s := Summarise(g, done)[0]
	if s.Mbps != 3 || s.Runs != 4 || s.JoulesPer100MB.known() || math.Abs(float64(s.MbpsDeviation)-3.0956959) > 1e-6 {
		t.Errorf("%+v", s)
	}
}

func TestParseReport(t *testing.T) {
	m, err := ParseReport([]byte(`{"schema":1,"seconds":2,"cpu_seconds":0.5,"links":[{"bytes":3,"connections":2},{"bytes":4,"connections":1}],
		"power":{"median_watts":1.5,"peak_watts":2},"energy":{"modelled":true,"dynamic_joules":7,"tail_joules":1},"other":[]}`))
	if err != nil || m.Seconds != 2 || m.Bytes != 7 || m.Connections != 3 || *m.Joules != 7 || *m.TailJoules != 1 || !m.Modelled || *m.PeakWatts != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	m, err = ParseReport([]byte(`{"schema":1,"seconds":2,"links":[],"power":null,"energy":null}`))
	if err != nil || m.Joules != nil || m.MedianWatts != nil {
		t.Errorf("%+v, %v", m, err)
	}
	for _, text := range []string{"", "{}", "[]", `{"schema":2}`, `{"schema":1,"links":[{"bytes":-5}]}`, `{"schema":1,"seconds":-1e9}`} {
		if m, err := ParseReport([]byte(text)); !errors.Is(err, ErrReport) {
			t.Errorf("%q: %+v, %v", text, m, err)
		}
	}
}

func FuzzReadResults(f *testing.F) {
	head := `{"sweep":1,"grid":{"concurrency":[1,2],"parallelism":[1],"block_bytes":[1]},"seed":1,"target":"x"}` + "\n"
	f.Add([]byte(head + `{"concurrency":1,"parallelism":1,"block_bytes":1,"round":0,"seconds":1,"bytes":5,"cpu_seconds":0,"connections":1}` + "\n"))
	f.Add([]byte(head + `{"concurrency":1,"parallelism":1,"block_bytes":1,"round":0,"failure":"x"}` + "\nrest"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, done, n, err := results.Read[Header, Result](bytes.NewReader(text))
		if err != nil {
			return
		}
		if n < 1 || n > int64(len(text)) || text[n-1] != '\n' || h.Grid.Check() != nil {
			t.Fatalf("%d bytes of %d", n, len(text))
		}
		for _, s := range Summarise(h.Grid, done) {
			if s.Runs > 0 && !s.Mbps.known() {
				t.Fatalf("%+v", s)
			}
		}
		if len(h.Grid.Settings()) > 1000 {
			return
		}
		if err := errors.Join(Markdown(io.Discard, h, done), CSV(io.Discard, h, done), JSON(io.Discard, h, done)); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzParseReport(f *testing.F) {
	f.Add([]byte(`{"schema":1,"seconds":2,"links":[{"bytes":3}],"energy":{"dynamic_joules":7}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := ParseReport(text); err == nil && (m.Bytes < 0 || math.IsNaN(m.Seconds)) {
			t.Fatalf("%+v", m)
		}
	})
}
