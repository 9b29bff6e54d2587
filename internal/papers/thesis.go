package papers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/testdata"
)

// What the thesis says of its measurements, and what it leaves open.
const (
	thesisSize = 250_000_000 // bytes: "250MB random noise" (3.1.4)
	// thesisOverlap is 4.2.2's; thesisPadding 4.3.5's example's staticFactor;
	// thesisLimit 4.3.3's example's upper limit, 4000 KB.
	thesisOverlap = 0.6
	thesisPadding = 0.3
	thesisLimit   = 4_000_000
	// thesisRamp is the observed average build-up of carrier aggregation
	// (3.1.4).
	thesisRamp = 2500 * time.Millisecond
	// The thesis tells no round-trip times: these are linklab's.
	thesisWiFiRTT = 16 * time.Millisecond
	thesisLTERTT  = 50 * time.Millisecond
	// thesisTLS is TLS 1.2's handshake: the clients used OpenSSL 1.0.2 (3.2.2).
	thesisTLS = 2
	// ThesisRuns is how many runs the median of a row is taken over: more than
	// the thesis's 10, because these cost nothing.
	ThesisRuns = 50
	// wanderSigma is the standard deviation of a rate that wanders by Vary,
	// as a part of Vary: that of the sum of three sines of weights 0.5, 0.3
	// and 0.2, sqrt((0.25+0.09+0.04)/2).
	wanderSigma = 0.4358898943540674
	// Tolerance is how far the time of a row may be from the table's.
	Tolerance = 0.10
)

// ThesisTable is one of the thesis's tables of results.
type ThesisTable struct {
	Source   string      `json:"source"`
	Table    string      `json:"table"`
	Scenario string      `json:"scenario"`
	Note     string      `json:"note,omitempty"`
	Rows     []ThesisRow `json:"rows"`
}

// ThesisRow is an approach's row: medians over 10 downloads. What does not
// apply is 0. Rates are of packets, headers included (skjolden, 3.4).
type ThesisRow struct {
	Approach    string  `json:"approach"`
	WiFiSeconds float64 `json:"wifi_seconds,omitempty"`
	LTESeconds  float64 `json:"lte_seconds,omitempty"`
	LinkDelta   float64 `json:"link_delta_seconds,omitempty"`
	WiFiMbps    float64 `json:"wifi_mbps,omitempty"`
	LTEMbps     float64 `json:"lte_mbps,omitempty"`
	WiFiSigma   float64 `json:"wifi_sigma_mbps,omitempty"`
	LTESigma    float64 `json:"lte_sigma_mbps,omitempty"`
}

// Seconds is the row's download time: that of its slower link.
func (r *ThesisRow) Seconds() float64 { return max(r.WiFiSeconds, r.LTESeconds) }

// Balance is how many bytes the row's own rates and times make, as a part of
// the file: the rates are medians, so it is not 1.
func (r *ThesisRow) Balance() float64 {
	bits := float64(r.WiFiSeconds*r.WiFiMbps) + float64(r.LTESeconds*r.LTEMbps)
	return bits * 1e6 * scenario.Goodput / 8 / thesisSize
}

// ThesisTables are the tables that the simulator is held against: 5.1, 5.3, 5.5
// and 5.6.
func ThesisTables() ([]ThesisTable, error) {
	names, err := fs.Glob(testdata.Thesis, "thesis/*.json")
	if err != nil {
		return nil, err
	}
	tables := make([]ThesisTable, len(names))
	for i, name := range names {
		text, err := testdata.Thesis.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(text, &tables[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return tables, nil
}

// algorithm is the row's policy.
func (r *ThesisRow) algorithm() string {
	switch {
	case strings.HasPrefix(r.Approach, "Algorithm "):
		return strings.TrimPrefix(r.Approach, "Algorithm ")
	case strings.HasPrefix(r.Approach, "Naive"):
		return "naive"
	}
	return "single"
}

// Config rehearses a row: its own rates and deviations, the thesis's algorithm
// as it was, bandwidths in bytes per second set by hand; nil: estimated.
func (r *ThesisRow) Config(table string, bandwidths []float64) sim.Config {
	s := scenario.Scenario{Name: "thesis " + table}
	if r.WiFiMbps > 0 {
		s.Links = append(s.Links, scenario.Link{
			Name: "wlan0", DownMbps: r.WiFiMbps, RTT: thesisWiFiRTT, Vary: vary(r.WiFiSigma, r.WiFiMbps),
		})
	}
	if r.LTEMbps > 0 {
		s.Links = append(s.Links, scenario.Link{
			Name: "rmnet0", DownMbps: r.LTEMbps, RTT: thesisLTERTT, Vary: vary(r.LTESigma, r.LTEMbps), Ramp: thesisRamp,
		})
	}
	return sim.Config{
		Scenario: s, Size: thesisSize, Algorithm: r.algorithm(), Seed: 1,
		StaticLimit: thesisLimit, Padding: thesisPadding, Overlap: thesisOverlap, Parallelism: 1,
		NoSteal: true, NoFailover: true, HTTP2: true, TLSTrips: thesisTLS, RampOnConnect: true,
		Bandwidths: bandwidths,
	}
}

func vary(sigma, mean float64) float64 { return min(1, sigma/mean/wanderSigma) }

// ThesisResult is what the simulator makes of a row: medians over ThesisRuns
// runs that differ in how the links wander.
type ThesisResult struct {
	ThesisRow
	SimSeconds float64
	SimFastest float64
	SimSlowest float64
	SimDelta   float64
	// EstSeconds and EstDelta are the same with the bandwidths that the scheduler estimates
	// while it runs.
	EstSeconds float64
	EstDelta   float64
}

// Ratio is the simulated time over the table's.
func (r *ThesisResult) Ratio() float64 { return r.SimSeconds / r.Seconds() }

// EstRatio is the simulated time over the table's with estimated bandwidths.
func (r *ThesisResult) EstRatio() float64 { return r.EstSeconds / r.Seconds() }

// Within says whether the simulated time is as near to the table's as asked for.
func (r *ThesisResult) Within() bool { return within(r.Ratio()) }

// EstWithin is Within with estimated bandwidths.
func (r *ThesisResult) EstWithin() bool { return within(r.EstRatio()) }

func within(ratio float64) bool { return ratio >= 1-Tolerance && ratio <= 1+Tolerance }

// ThesisGuess is what became of a table with bandwidths that may have been the thesis's.
type ThesisGuess struct {
	Part       float64 // of each link's greatest throughput in the table
	PairsAlike int     // as in ThesisComparison
	Off        float64 // greatest difference of Algorithms 2 and 3 from the table's times, as a part of these
}

// ThesisComparison is a table, row by row, with the guess of the constant bandwidths that
// explains it best: with which most pairs of approaches are in the same order, and of
// such guesses the one whose times are nearest.
type ThesisComparison struct {
	Part        float64
	Guesses     []ThesisGuess
	Table       ThesisTable
	Name        string
	Scenario    string
	Results     []ThesisResult
	PaperRank   []string // approaches, fastest first
	SimRank     []string
	SameRanking bool
	Pairs       int // of approaches
	PairsAlike  int // those in the same order in both
}

// swapped calls yield for each pair of approaches of which the thesis has a
// before z and the simulator z before a.
func (c *ThesisComparison) swapped(yield func(a, z *ThesisResult)) {
	for i := range c.Results {
		for k := range c.Results {
			a, z := &c.Results[i], &c.Results[k]
			if a.Seconds() < z.Seconds() && a.SimSeconds > z.SimSeconds {
				yield(a, z)
			}
		}
	}
}

// CompareThesis rehearses every row of every table.
func CompareThesis() ([]ThesisComparison, error) {
	tables, err := ThesisTables()
	if err != nil {
		return nil, err
	}
	out := make([]ThesisComparison, len(tables))
	for i, t := range tables {
		if out[i], err = compareTable(t); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Table, err)
		}
	}
	return out, nil
}

// thesisGuesses are what the constant bandwidths of a scenario may have been, as parts of
// the greatest throughput of each link in its table.
func thesisGuesses() []float64 { return []float64{0.4, 0.5, 0.7, 1, 1.5, 2, 3} }

// compareTable rehearses a table with each guess, and keeps the one that explains it best.
func compareTable(t ThesisTable) (ThesisComparison, error) {
	var wifi, lte float64 // bytes per second
	for _, row := range t.Rows {
		wifi, lte = max(wifi, row.WiFiMbps), max(lte, row.LTEMbps)
	}
	wifi, lte = wifi*1e6*scenario.Goodput/8, lte*1e6*scenario.Goodput/8
	guesses := make([]ThesisComparison, len(thesisGuesses()))
	var all sync.WaitGroup
	errs := make([]error, len(guesses)*len(t.Rows))
	for g, part := range thesisGuesses() {
		guesses[g] = ThesisComparison{Table: t, Name: t.Table, Scenario: t.Scenario, Part: part, Results: make([]ThesisResult, len(t.Rows))}
		for k, row := range t.Rows {
			r := &guesses[g].Results[k]
			if r.ThesisRow = row; g > 0 && !row.guided() {
				continue // it is the same whatever they are
			}
			all.Go(func() { errs[g*len(t.Rows)+k] = r.rehearse(t.Table, part*wifi, part*lte, g == 0) })
		}
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return ThesisComparison{}, err
	}
	tried := make([]ThesisGuess, len(guesses))
	best := 0
	for g := range guesses {
		c := &guesses[g]
		for k := range c.Results {
			if r, first := &c.Results[k], &guesses[0].Results[k]; !r.guided() {
				*r = *first
			} else {
				r.EstSeconds, r.EstDelta = first.EstSeconds, first.EstDelta
			}
		}
		c.rank()
		tried[g] = ThesisGuess{Part: c.Part, PairsAlike: c.PairsAlike, Off: c.off()}
		if b := &tried[best]; tried[g].PairsAlike > b.PairsAlike || tried[g].PairsAlike == b.PairsAlike && tried[g].Off < b.Off {
			best = g
		}
	}
	guesses[best].Guesses = tried
	return guesses[best], nil
}

// rank puts the approaches in order, and says how far the two orders agree.
func (c *ThesisComparison) rank() {
	c.PaperRank = rank(c.Results, func(r ThesisResult) float64 { return r.Seconds() })
	c.SimRank = rank(c.Results, func(r ThesisResult) float64 { return r.SimSeconds })
	c.SameRanking = slices.Equal(c.PaperRank, c.SimRank)
	c.Pairs = len(c.Results) * (len(c.Results) - 1) / 2
	c.PairsAlike = c.Pairs
	c.swapped(func(_, _ *ThesisResult) { c.PairsAlike-- })
}

// off is by what part the times of the rows that depend on the guess differ from the
// table's, at most.
func (c *ThesisComparison) off() (most float64) {
	for i := range c.Results {
		if r := &c.Results[i]; r.guided() {
			most = max(most, math.Abs(r.Ratio()-1))
		}
	}
	return most
}

// guided says whether the approach asks for a constant bandwidth.
func (r *ThesisRow) guided() bool { return r.algorithm() == "2" || r.algorithm() == "3" }

// rehearse fills in the simulated figures. wifi and lte are the constant bandwidths, in
// bytes per second; estimate says whether to try without them, too.
func (r *ThesisResult) rehearse(table string, wifi, lte float64, estimate bool) error {
	seconds, deltas, err := runs(r.Config(table, []float64{wifi, lte}))
	if err != nil {
		return err
	}
	r.SimSeconds, r.SimFastest, r.SimSlowest = stats.Median(seconds), slices.Min(seconds), slices.Max(seconds)
	r.SimDelta = stats.Median(deltas)
	r.EstSeconds, r.EstDelta = r.SimSeconds, r.SimDelta
	if !estimate || !r.guided() {
		return nil
	}
	if seconds, deltas, err = runs(r.Config(table, nil)); err != nil {
		return err
	}
	r.EstSeconds, r.EstDelta = stats.Median(seconds), stats.Median(deltas)
	return nil
}

func runs(cfg sim.Config) (seconds, deltas []float64, err error) {
	for seed := range uint64(ThesisRuns) {
		cfg.Seed = seed + 1
		res, err := sim.Run(cfg)
		if err != nil {
			return nil, nil, err
		}
		seconds = append(seconds, res.Seconds)
		deltas = append(deltas, res.LinkDelta)
	}
	return seconds, deltas, nil
}

func rank(rows []ThesisResult, seconds func(ThesisResult) float64) []string {
	order := make([]*ThesisResult, len(rows))
	for i := range rows {
		order[i] = &rows[i]
	}
	slices.SortStableFunc(order, func(a, b *ThesisResult) int { return cmp.Compare(seconds(*a), seconds(*b)) })
	names := make([]string, len(rows))
	for i, r := range order {
		names[i] = r.Approach
	}
	return names
}
