package study

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/energy"
)

// sweepFile is what bench sweep writes: two combinations, twice each, one of which failed
// once.
const sweepFile = `{"sweep":1,"grid":{"concurrency":[1,4],"parallelism":[2],"block_bytes":[8192]},"seed":1,"target":"html"}
{"concurrency":1,"parallelism":2,"block_bytes":8192,"round":0,"seconds":4,"bytes":50000000,"cpu_seconds":0.5,"dynamic_joules":10,"median_watts":2.5,"connections":4}
{"concurrency":4,"parallelism":2,"block_bytes":8192,"round":0,"seconds":2,"bytes":50000000,"cpu_seconds":0.4,"dynamic_joules":6,"median_watts":3,"connections":16}
{"concurrency":4,"parallelism":2,"block_bytes":8192,"round":1,"failure":"timeout","seconds":0,"bytes":0,"cpu_seconds":0.1,"connections":0,"exit_code":4}
{"concurrency":1,"parallelism":2,"block_bytes":8192,"round":1,"seconds":5,"bytes":50000000,"cpu_seconds":0.6,"dynamic_joules":12,"median_watts":2.4,"connections":4}
`

func TestSweep(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sweep.jsonl")
	if err := os.WriteFile(name, []byte(sweepFile), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, errs := Read(t.Context(), []string{name}, energy.Models{})
	if len(runs) != 4 || len(errs) > 0 {
		t.Fatalf("%d runs, %v", len(runs), errs)
	}
	s := New(runs, nil)
	if len(s.Approaches) != 2 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "timeout") {
		t.Fatalf("%d approaches, %v", len(s.Approaches), s.Problems)
	}
	a, b := s.Approaches[0], s.Approaches[1]
	if a.Name != "-j 1 -p 2 --block-size 8K" || b.Name != "-j 4 -p 2 --block-size 8K" || a.Runs != 2 || b.Incomplete != 1 {
		t.Errorf("%+v, %+v", a, b)
	}
	for _, c := range []struct {
		of     *Approach
		metric string
		want   float64
	}{
		{a, Seconds, 4.5}, {b, Seconds, 2}, {b, Throughput, 200}, {a, EnergyDynamic, 11}, {b, EnergyPer100MB, 12}, {a, CPUSeconds, 0.55}, {a, PowerMedian, 2.45},
	} {
		if got := float64(c.of.Value(c.metric).Median); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %s: %v, want %v", c.metric, c.of.Name, got, c.want)
		}
	}
	for _, unknown := range []string{EnergyTotal, PowerBase, MemoryPeak, LinkDelta} {
		if a.Has(unknown) {
			t.Errorf("%s is %v, and nobody knows it", unknown, a.Value(unknown).Median)
		}
	}
	if _, err := read(strings.NewReader(sweepFile[:strings.IndexByte(sweepFile, '\n')+1]), energy.Models{}); err == nil {
		t.Error("a sweep without a result is read")
	}
	if _, err := read(strings.NewReader(strings.Replace(sweepFile, `"seconds":4`, `"seconds":-4`, 1)), energy.Models{}); err == nil {
		t.Error("a download in less than no time is read")
	}
}

// TestPairs: runs with numbers in their names are compared by those, others by when they
// began.
func TestPairs(t *testing.T) {
	run := func(name string, seconds float64) *Run {
		r := &Run{Name: name}
		r.Report.Seconds = seconds
		return r
	}
	a := []*Run{run("runs/a.001.jsonl", 1), run("runs/a.003.jsonl", 3)}
	b := []*Run{run("runs/b.002.jsonl", 20), run("runs/b.003.json", 30)}
	if got := pairs(a, b); len(got) != 1 || got[0][0].Report.Seconds != 3 || got[0][1].Report.Seconds != 30 {
		t.Errorf("%d pairs", len(got))
	}
	if got := pairs(a, []*Run{run("x", 5)}); len(got) != 1 || got[0][0].Report.Seconds != 1 {
		t.Errorf("%d pairs without numbers", len(got))
	}
}
