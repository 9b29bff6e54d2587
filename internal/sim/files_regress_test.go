package sim

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/internal/stats"
)

// goldenFiles is how a mode does over the made-up jobs of many files: as golden.
type goldenFiles struct {
	Mode       string   `json:"mode"`
	Jobs       int      `json:"jobs"`
	Median     float64  `json:"median_efficiency"`
	P05        float64  `json:"p05_efficiency"`
	Worst      float64  `json:"worst_efficiency"`
	WorstSeeds []uint64 `json:"worst_seeds"`
	Delta      float64  `json:"median_link_delta_seconds"`
	Waste      float64  `json:"waste"`
}

// TestRegressionFiles rehearses hundreds of made-up jobs of many files. After a
// change: go test ./internal/sim -run RegressionFiles -update.
func TestRegressionFiles(t *testing.T) {
	n, file := soaktest.Cases(40, 200, 400), soaktest.Golden("testdata/regression-files.json", "testdata/soak/regression-files.json")
	results := make([]Result, n)
	inParallel(n, func(i int) {
		cfg := RandomFiles(uint64(i))
		res, err := RunWithBound(cfg)
		if err == nil {
			err = check(cfg, res, res.BoundSeconds)
		}
		if err != nil {
			t.Errorf("seed %d: %v", i, err)
			return
		}
		results[i] = res
	})
	if file == "" || t.Failed() {
		return
	}
	byMode := map[string][]Result{}
	var modes []string
	for _, r := range results {
		if byMode[r.Batch.Mode] == nil {
			modes = append(modes, r.Batch.Mode)
		}
		byMode[r.Batch.Mode] = append(byMode[r.Batch.Mode], r)
	}
	var all []goldenFiles
	for _, mode := range modes {
		g := summaryFiles(mode, byMode[mode])
		t.Logf("%+v", g)
		all = append(all, g)
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, file, append(text, '\n'))
}

func summaryFiles(mode string, results []Result) goldenFiles {
	var eff, delta []float64
	var wasted, wanted float64
	for i := range results {
		r := &results[i]
		eff = append(eff, r.Efficiency)
		delta = append(delta, r.LinkDelta)
		wasted += float64(r.WastedBytes)
		wanted += float64(r.SizeBytes)
	}
	worst := slices.Clone(results)
	slices.SortStableFunc(worst, func(a, b Result) int {
		if a.Efficiency < b.Efficiency {
			return -1
		}
		return 1
	})
	slices.Sort(eff)
	slices.Sort(delta)
	g := goldenFiles{
		Mode: mode, Jobs: len(results), Median: round(stats.Quantile(eff, 0.5)), P05: round(stats.Quantile(eff, 0.05)), Worst: round(eff[0]),
		Delta: round(stats.Quantile(delta, 0.5)), Waste: round(wasted / wanted),
	}
	for _, r := range worst[:5] {
		g.WorstSeeds = append(g.WorstSeeds, r.Seed)
	}
	return g
}
