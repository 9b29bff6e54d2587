package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/report"
)

// made is a run of which only the report is known.
func made(source, algorithm, policy, links string, size int64, seconds float64) *Run {
	r := &Run{Name: "x", Source: source}
	r.Report = report.Report{Algorithm: algorithm, EnergyPolicy: policy, SizeBytes: size, Seconds: seconds, ThroughputMbps: 1}
	for name := range strings.SplitSeq(links, "+") {
		r.Report.Links = append(r.Report.Links, report.Link{Name: name, Bytes: 5, FinishedSeconds: seconds, ThroughputMbps: 2})
	}
	if seconds == 0 {
		r.Report.ExitCode, r.Report.Error = 4, "no route"
	}
	return r
}

func TestApproaches(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []*Run
		want []string
	}{
		{"the thesis's order", []*Run{
			made("d", "exec:mine", "off", "a+b", 100, 1), made("d", "3", "", "a+b", 100, 1), made("d", "naive", "off", "a+b", 100, 1),
			made("d", "single", "off", "b", 100, 1), made("d", "1", "off", "a+b", 100, 1), made("d", "3", "off", "a+b", 100, 1),
		}, []string{"single-link b 1", "naive 1", "algorithm 1 1", "algorithm 3 2", "exec:mine 1"}},
		{"one link is one link", []*Run{made("d", "3", "off", "a", 100, 1), made("d", "single", "off", "a", 100, 1)}, []string{"single-link a 2"}},
		{"energy", []*Run{made("d", "3", "min-energy", "a+b", 100, 1), made("d", "3", "off", "a+b", 100, 1)}, []string{"algorithm 3 1", "algorithm 3, min-energy 1"}},
		{
			"links",
			[]*Run{made("d", "3", "off", "a+b", 100, 1), made("d", "3", "off", "a+c", 100, 1), made("d", "3", "off", "a", 100, 1)},
			[]string{"single-link a 1", "algorithm 3 over a+b 1", "algorithm 3 over a+c 1"},
		},
		{"sizes", []*Run{made("d", "3", "off", "a+b", 1<<20, 1), made("d", "3", "off", "a+b", 2<<20, 1)}, []string{"algorithm 3, 1.049 MB 1", "algorithm 3, 2.097 MB 1"}},
		{
			"directories",
			[]*Run{made("fast", "3", "off", "a+b", 1, 1), made("slow", "naive", "off", "a+b", 1, 1), made("slow", "single", "off", "a", 1, 1)},
			[]string{"fast: algorithm 3 1", "slow: single-link a 1", "slow: naive 1"},
		},
		{"failed before its size was known", []*Run{made("d", "3", "off", "a+b", -1, 0), made("d", "3", "off", "a+b", 9, 1)}, []string{"algorithm 3 2"}},
		{"unknown", []*Run{made("d", "", "", "", 1, 1)}, []string{"single-link (none) 1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, a := range New(c.runs, nil).Approaches {
				got = append(got, fmt.Sprintf("%s %d", a.Name, a.Runs))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestStatistics(t *testing.T) {
	var runs []*Run
	for _, s := range []float64{10, 12, 11, 0} {
		runs = append(runs, made("d", "3", "off", "a+b", 100, s))
	}
	s := New(runs, []error{errors.New("z: nothing")})
	a := s.Approaches[0]
	v := a.Value(Seconds)
	if a.Runs != 4 || a.Incomplete != 1 || v.N != 3 || v.Median != 11 || v.Mean != 11 || v.Sigma != 1 || v.Min != 10 || v.Max != 12 {
		t.Errorf("%+v, %+v", a, v)
	}
	if got := float64(v.Variation); !near(got, 1.0/11, 1e-9) {
		t.Errorf("C_v %v", got)
	}
	if l := a.Links[0]; l.Name != "a" || l.Seconds.Median != 11 || l.Mbps.Median != 2 || l.Share.Median != 0.5 {
		t.Errorf("%+v", l)
	}
	if len(s.Problems) != 2 || s.Problems[1] != "x: no route" {
		t.Errorf("problems %v", s.Problems)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"power_peak_watts":{"n":0,"median":null`) {
		t.Errorf("what is not known is not null: %s", text)
	}
}

// Steps that are not full say nothing of the rate: a download of 8.5 ms is not one of 50.
func TestRateOfShortDownloads(t *testing.T) {
	for _, c := range []struct {
		trace []float64
		want  float64
	}{
		{nil, 900},
		{[]float64{160}, 900},
		{[]float64{0, 160, 40, 0}, 900},
		{[]float64{160, 0, 0, 40}, 900},
		{[]float64{100, 800, 40}, 800},
		{[]float64{0, 100, 700, 0, 800, 40}, 700},
	} {
		r := made("d", "single", "off", "a", 1e6, 0.0085)
		r.Report.Links[0].ThroughputMbps = 900
		r.Traces = []Trace{{Link: "a", Step: firstStep, Mbps: c.trace}}
		a := New([]*Run{r}, nil).Approaches[0]
		_, _, mbps := r.LinkPart("a")
		if a.Links[0].Mbps.Median != Value(c.want) || mbps != Value(c.want) {
			t.Errorf("%v: %v Mbit/s, in CSV %v, want %v", c.trace, a.Links[0].Mbps.Median, mbps, c.want)
		}
	}
}

func TestCorrelations(t *testing.T) {
	var runs []*Run
	for i := range 5 {
		r := made("d", "3", "off", "a+b", 100, float64(10+i))
		r.Report.Power = &report.Power{PeakWatts: float64(20 - i)}
		r.Report.CPUSeconds = float64(1 + i%2)
		runs = append(runs, r)
	}
	got := make(map[string]Correlation)
	for _, c := range New(runs, nil).Correlations {
		got[c.X+" "+c.Y] = c
	}
	if c := got[Seconds+" "+PowerPeak]; c.N != 5 || !near(float64(c.R), -1, 1e-9) {
		t.Errorf("%+v", c)
	}
	if c := got[Seconds+" "+CPUIntegral]; c.N != 5 || !near(float64(c.R), 0, 1e-9) {
		t.Errorf("%+v", c)
	}
	if _, ok := got[Seconds+" "+EnergyTotal]; ok {
		t.Error("a correlation with what nobody knows")
	}
	if list := New(runs[:2], nil).Correlations; len(list) > 0 {
		t.Errorf("two runs correlate: %v", list)
	}
}

// Whatever a file says, a study of it can be made and written.
func FuzzRead(f *testing.F) {
	f.Add(recorded(f, eventtest.TwoLinks()))
	f.Add(recorded(f, eventtest.Every()))
	f.Add(recorded(f, eventtest.UnknownSize()))
	f.Add(recorded(f, eventtest.ManyFiles(3)))
	f.Add([]byte(sweepFile))
	f.Add([]byte(`{"schema":1,"version":"1","seconds":1,"links":[{"name":"a","bytes":1}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		runs, err := read(strings.NewReader(string(text)), energy.Models{})
		if err != nil {
			return
		}
		for _, tr := range runs[0].Traces {
			if len(tr.Mbps) > maxSteps {
				t.Fatalf("%d steps", len(tr.Mbps))
			}
		}
		if _, err := json.Marshal(New(append(runs, runs...), nil)); err != nil {
			t.Fatal(err)
		}
	})
}

// The thesis's table 8.1: how download time, processor and utilisation of the device
// go together, from tables 6.1 (CPU p50) and 7.9.
func TestUtilisationCorrelatesSkjolden81(t *testing.T) {
	type row struct{ seconds, cpu, percent float64 }
	for device, c := range map[string]struct {
		rows []row
		want map[[2]string]float64
	}{
		"S6": {
			[]row{{26.06, 56, 54.13}, {52.97, 50, 46.78}, {32.36, 56, 66.23}, {18.35, 64, 101.75}, {18.86, 64, 98.24}, {16.68, 68, 108.86}},
			map[[2]string]float64{{Seconds, CPUMedian}: -0.91, {Seconds, Utilisation}: -0.83, {CPUMedian, Utilisation}: 0.97},
		},
		"S7": {
			[]row{{26.25, 60, 38.63}, {33.79, 60, 39.95}, {18.99, 70, 62.00}, {17.88, 70, 67.59}, {18.44, 70, 68.24}, {16.55, 70, 75.84}},
			map[[2]string]float64{{Seconds, CPUMedian}: -0.92, {Seconds, Utilisation}: -0.91, {CPUMedian, Utilisation}: 0.95},
		},
	} {
		var runs []*Run
		for _, x := range c.rows {
			r := made("d", "3", "off", "a+b", 250e6, x.seconds)
			r.CPU = []Point{{X: 0, Y: x.cpu}, {X: x.seconds, Y: x.cpu}}
			r.Report.Energy = &report.Energy{Utilisation: x.percent / 100}
			runs = append(runs, r)
		}
		found := 0
		for _, got := range New(runs, nil).Correlations {
			want, known := c.want[[2]string{got.X, got.Y}]
			if !known {
				continue
			}
			found++
			if !near(float64(got.R), want, 0.011) { // the thesis cuts digits off
				t.Errorf("%s: %s and %s: %.3f, in the thesis %.2f", device, got.X, got.Y, float64(got.R), want)
			}
		}
		if found != len(c.want) {
			t.Errorf("%s: %d of %d correlations", device, found, len(c.want))
		}
	}
}

// TestKindsAreNotPooled: what was measured by one source, by another one, and what was
// modelled make approaches of their own; runs of which nobody knows what they drew
// belong to those that have the time in common. What is partial counts for no energy.
func TestKindsAreNotPooled(t *testing.T) {
	run := func(seconds, joules float64, source string, modelled bool, covered float64) *Run {
		r := made("d", "3", "off", "a+b", 100, seconds)
		r.Name = source
		if source != "" {
			r.Report.Power = &report.Power{Source: source, PeakWatts: joules / seconds}
			r.Report.Energy = &report.Energy{DynamicJoules: joules, TotalJoules: joules, Covered: covered, Partial: covered < 0.9, Modelled: modelled, TailCut: true}
		}
		return r
	}
	s := New([]*Run{
		run(10, 40, "battery", false, 1), run(11, 42, "battery", false, 1), run(12, 4, "battery", false, 0.2),
		run(13, 9, "rapl", false, 1), run(14, 90, "model", true, 1), run(15, 91, "model", true, 1), run(16, 0, "", false, 0),
	}, nil)
	type want struct {
		runs, energies, partial int
		joules                  Value
	}
	for kind, w := range map[string]want{"battery": {4, 2, 1, 41}, "rapl": {1, 1, 0, 9}, Modelled: {2, 2, 0, 90.5}} {
		i := slices.IndexFunc(s.Approaches, func(a *Approach) bool { return a.Kind == kind })
		if i < 0 {
			t.Fatalf("none of %s: %+v", kind, s.Approaches)
		}
		a := s.Approaches[i]
		v := a.Value(EnergyDynamic)
		if got := (want{a.Runs, v.N, a.Partial, v.Median}); got != w || a.Modelled != (kind == Modelled) || a.Name != "algorithm 3, "+kind || len(a.Each) != a.Runs {
			t.Errorf("%s: %+v, want %+v; %+v", kind, got, w, a)
		}
	}
	if len(s.Approaches) != 3 || len(s.ByKind()) != 3 || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "only 20 % of its time was measured") {
		t.Errorf("%d approaches, %q", len(s.Approaches), s.Problems)
	}
	for _, c := range s.Correlations {
		if c.X == Seconds && (c.Y == EnergyDynamic || c.Y == PowerPeak) {
			t.Errorf("of two of each kind at most: %+v", c)
		}
	}
	text, err := json.Marshal(s.Approaches[0].Each[2])
	if want := `{"file":"battery","complete":true,"links":["a","b"],"kind":"battery","covered":0.2,"partial":true,"tail_cut":true,"base_out_of_line":false}`; err != nil || string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestBaseOutOfLine: one run whose base was measured in another's tail is marked, and
// only among those of its directory.
func TestBaseOutOfLine(t *testing.T) {
	var runs []*Run
	for i, base := range []float64{0.8, 0.81, 1.7, 0.79, 1.7} {
		r := made("d", "3", "off", "a+b", 100, 10)
		if i == 4 {
			r.Source = "another"
		}
		r.Report.Power = &report.Power{Source: "battery", BaseWatts: base, BaseMeasured: true}
		r.Report.Energy = &report.Energy{DynamicJoules: 9, Covered: 1}
		runs = append(runs, r)
	}
	s := New(runs, nil)
	for i, r := range runs {
		if got := r.Measured().BaseOutOfLine; got != (i == 2) {
			t.Errorf("run %d: %v", i, got)
		}
	}
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "base power of 1.700 W is out of line with the other runs' 0.805 W") {
		t.Errorf("%q", s.Problems)
	}
}
