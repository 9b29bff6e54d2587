package papers

import (
	"bytes"
	"testing"

	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/internal/race"
)

// fasterRow of fasterTable carries 10 % more than the file by its own rates and times, so
// that only its Link Δ explains its time: with the true capacities given it is 16 % faster,
// and with the estimated ones it may be that much faster, but no slower than any other row.
const (
	fasterTable, fasterRow = "5.6", "Algorithm 2"
	fasterRatio            = 0.84
)

// Every row is within Tolerance of the thesis's time, with bandwidths given and with those
// that the scheduler estimates, and every scenario ranks its approaches as the thesis does.
// docs/measured/thesis.md says on what that hangs.
func TestThesis(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("thousands of runs")
	}
	all, err := CompareThesis()
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, c := range all {
		for i := range c.Results {
			rows++
			r := &c.Results[i]
			if !r.Within() {
				t.Errorf("table %s, %s: %.2f s, not %.2f", c.Name, r.Approach, r.SimSeconds, r.Seconds())
			}
			if r.guided() && !r.EstWithin() && !(c.Name == fasterTable && r.Approach == fasterRow && r.EstRatio() > fasterRatio && r.EstRatio() < 1) {
				t.Errorf("table %s, %s: %.2f s with estimated bandwidths, not %.2f", c.Name, r.Approach, r.EstSeconds, r.Seconds())
			}
		}
		if !c.SameRanking {
			t.Errorf("table %s ranks as %q, not as %q", c.Name, c.SimRank, c.PaperRank)
		}
	}
	if len(all) != 6 || rows != 35 {
		t.Errorf("%d tables with %d rows, want 6 with 35", len(all), rows)
	}
	var page bytes.Buffer
	if err := WriteThesis(&page, all); err != nil {
		t.Fatal(err)
	}
	goldentest.File(t, "../../docs/measured/thesis.md", page.Bytes())
}

// The tables are the thesis's: its Link Δ is the difference of its times.
func TestThesisTables(t *testing.T) {
	tables, err := ThesisTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if table.Source == "" {
			t.Errorf("table %s: no source", table.Table)
		}
		for _, r := range table.Rows {
			if r.WiFiSeconds > 0 && r.LTESeconds > 0 {
				delta := max(r.WiFiSeconds, r.LTESeconds) - min(r.WiFiSeconds, r.LTESeconds)
				if d := delta - r.LinkDelta; d > 0.011 || d < -0.011 {
					t.Errorf("table %s, %s: Link Δ %.2f, but the times differ by %.2f", table.Table, r.Approach, r.LinkDelta, delta)
				}
			}
			if b := r.Balance(); b < 0.94 || b > 1.11 {
				t.Errorf("table %s, %s: carries %.2f of the file", table.Table, r.Approach, b)
			}
		}
	}
}
