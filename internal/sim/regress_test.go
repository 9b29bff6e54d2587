package sim

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/pkg/scheduler"
)

var update = flag.Bool("update", false, "write the golden figures anew") //nolint:gochecknoglobals // a flag

const (
	goldenFile     = "testdata/regression.json"
	goldenSoakFile = "testdata/soak/regression.json"
	// fewScenarios is how many of the random downloads the thesis's earlier policies have to
	// do, which nobody works on and which take longest.
	fewScenarios = 500
)

// golden is how a policy does over the random downloads: quantiles of its
// times against the fluid bound and against the reference, rounded so that all
// machines agree, and of its Link Δ in seconds where no link fails.
type golden struct {
	Policy      string   `json:"policy"`
	Scenarios   int      `json:"scenarios"`
	Median      float64  `json:"median_efficiency"`
	P05         float64  `json:"p05_efficiency"`
	Worst       float64  `json:"worst_efficiency"`
	MedianOfRef float64  `json:"median_of_reference"`
	P05OfRef    float64  `json:"p05_of_reference"`
	WorstOfRef  float64  `json:"worst_of_reference"`
	WorstSeeds  []uint64 `json:"worst_seeds"` // against the reference
	MedianDelta float64  `json:"median_link_delta_seconds"`
	P95Delta    float64  `json:"p95_link_delta_seconds"`
	Waste       float64  `json:"waste"` // bytes thrown away over bytes wanted, in all
}

// TestRegression rehearses random downloads with every policy: hundreds, in make soak thousands.
// After a change of a policy: go test ./internal/sim -run Regression -update.
func TestRegression(t *testing.T) {
	n, file := soaktest.Cases(6, 60, 2000), soaktest.Golden(goldenFile, goldenSoakFile)
	bounds, references := make([]float64, n), make([]float64, n)
	inParallel(n, func(i int) {
		cfg := Random(uint64(i))
		b, err := cfg.Bound()
		if err != nil {
			t.Errorf("seed %d: %v", i, err)
		}
		bounds[i] = b
		if references[i], err = cfg.Reference(); err != nil || references[i] < 0.999*b {
			t.Errorf("seed %d: reference %.4f s, bound %.4f s, %v", i, references[i], b, err)
		}
	})
	var all []golden
	for _, policy := range scheduler.Names() {
		n := n
		if policy != "3" {
			n = min(n, fewScenarios)
		}
		results := make([]Result, n)
		inParallel(n, func(i int) {
			cfg := Random(uint64(i))
			cfg.Algorithm = policy
			res, err := Run(cfg)
			if err == nil {
				err = check(cfg, res, bounds[i])
			}
			if err != nil {
				t.Errorf("%s, seed %d: %v", policy, i, err)
			}
			res.hold(bounds[i], references[i])
			results[i] = res
		})
		g := summary(policy, results)
		t.Logf("%-8s efficiency median %.4f, p05 %.4f, worst %.4f; of the reference %.4f, %.4f, %.4f (seeds %v); Link Δ median %.3f s, p95 %.3f s; waste %.4f",
			policy, g.Median, g.P05, g.Worst, g.MedianOfRef, g.P05OfRef, g.WorstOfRef, g.WorstSeeds, g.MedianDelta, g.P95Delta, g.Waste)
		all = append(all, g)
	}
	if file == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, file, append(text, '\n'))
}

// check says what no download may do, whatever its links.
func check(cfg Config, res Result, bound float64) error {
	sum := int64(0)
	for _, l := range res.Links {
		sum += l.Bytes
	}
	switch {
	case sum != cfg.Size:
		return fmt.Errorf("the links brought %d bytes of %d", sum, cfg.Size)
	case res.Seconds < bound*0.999:
		return fmt.Errorf("%.4f s, and the bound is %.4f s", res.Seconds, bound)
	case res.Requests < 1 || res.WastedBytes < 0:
		return errors.New("impossible counts")
	}
	return nil
}

func summary(policy string, results []Result) golden {
	var eff, ref, delta []float64
	var wasted, wanted float64
	for _, r := range results {
		eff = append(eff, r.Efficiency)
		ref = append(ref, r.OfReference)
		if len(Random(r.Seed).Scenario.Events) == 0 {
			delta = append(delta, r.LinkDelta)
		}
		wasted += float64(r.WastedBytes)
		wanted += float64(r.SizeBytes)
	}
	worst := slices.Clone(results)
	slices.SortStableFunc(worst, func(a, b Result) int {
		if a.OfReference < b.OfReference {
			return -1
		}
		return 1
	})
	slices.Sort(eff)
	slices.Sort(ref)
	slices.Sort(delta)
	g := golden{
		Policy: policy, Scenarios: len(results),
		Median: round(stats.Quantile(eff, 0.5)), P05: round(stats.Quantile(eff, 0.05)), Worst: round(eff[0]),
		MedianOfRef: round(stats.Quantile(ref, 0.5)), P05OfRef: round(stats.Quantile(ref, 0.05)), WorstOfRef: round(ref[0]),
		MedianDelta: round(stats.Quantile(delta, 0.5)), P95Delta: round(stats.Quantile(delta, 0.95)), Waste: round(wasted / wanted),
	}
	for _, r := range worst[:5] {
		g.WorstSeeds = append(g.WorstSeeds, r.Seed)
	}
	return g
}

func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// inParallel calls f with 0 to n-1 on all processors.
func inParallel(n int, f func(int)) {
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	all.Wait()
}

// compareFile holds text against a golden file, or writes it with -update.
func compareFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(text) {
		t.Errorf("%s is not what comes out now; if that is meant, renew it with -update:\n%s", name, text)
	}
}
