package sim

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/internal/stats"
)

// wildGolden is how the default algorithm does over them: quantiles of the bound over
// the time taken, and the bytes thrown away over those wanted, the mean over downloads.
type wildGolden struct {
	Policy    string   `json:"policy"`
	Scenarios int      `json:"scenarios"`
	Mean      float64  `json:"mean_efficiency"`
	Median    float64  `json:"median_efficiency"`
	P25       float64  `json:"p25_efficiency"`
	P05       float64  `json:"p05_efficiency"`
	Worst     float64  `json:"worst_efficiency"`
	Seeds     []uint64 `json:"worst_seeds"`
	Waste     float64  `json:"mean_waste"`
}

// TestWild rehearses downloads over links that Random does not draw. After a change of
// the scheduler: go test ./internal/sim -run Wild -update.
func TestWild(t *testing.T) {
	n, file := soaktest.Cases(40, 200, 400), soaktest.Golden("testdata/wild.json", "testdata/soak/wild.json")
	results := make([]Result, n)
	inParallel(n, func(i int) {
		cfg := Wild(uint64(i))
		cfg.Algorithm = "3"
		bound, err := cfg.Bound()
		if err == nil {
			results[i], err = Run(cfg)
		}
		if err == nil {
			err = check(cfg, results[i], bound)
		}
		if err != nil {
			t.Errorf("seed %d: %v", i, err)
		}
		results[i].hold(bound, bound)
	})
	g := wildGolden{Policy: "3", Scenarios: n}
	var eff []float64
	for _, r := range results {
		eff = append(eff, r.Efficiency)
		g.Mean += r.Efficiency / float64(n)
		g.Waste += float64(r.WastedBytes) / float64(r.SizeBytes) / float64(n)
	}
	slices.SortFunc(results, func(a, b Result) int {
		if a.Efficiency < b.Efficiency {
			return -1
		}
		return 1
	})
	for _, r := range results[:5] {
		g.Seeds = append(g.Seeds, r.Seed)
	}
	slices.Sort(eff)
	g.Mean, g.Waste = round(g.Mean), round(g.Waste)
	g.Median, g.P25, g.P05, g.Worst = round(stats.Quantile(eff, 0.5)), round(stats.Quantile(eff, 0.25)), round(stats.Quantile(eff, 0.05)), round(eff[0])
	t.Logf("%+v", g)
	if file == "" || t.Failed() {
		return
	}
	text, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, file, append(text, '\n'))
}

// TestWildIsPossible asks for nothing that no link could bring.
func TestWildIsPossible(t *testing.T) {
	for seed := range uint64(800) {
		cfg := Wild(seed)
		if _, err := cfg.Scenario.Complete(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if _, err := cfg.Bound(); errors.Is(err, scenario.ErrNever) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestSmallFileOverASlowFirstLink: all of a small file is asked of the first link
// before its size is known, and that link may need seconds for its first byte. Over TLS
// nobody has to wait for that; in clear the second link's server may be a portal, and is
// believed about a file that ends before what it was asked for when the first one agrees.
func TestSmallFileOverASlowFirstLink(t *testing.T) {
	link := func(mbps float64, rtt time.Duration) scenario.Link {
		return scenario.Link{DownMbps: mbps, RTT: rtt * time.Millisecond}
	}
	for _, c := range []struct {
		first, second scenario.Link
		size          int64
		tls, clear    float64 // seconds at most
	}{
		{link(500, 1500), link(11, 2), 36_000, 0.1, 3.1},
		{link(20, 700), link(40, 20), 10_000, 0.15, 1.5},
		{link(20, 700), link(40, 20), 300_000, 0.35, 0.35},
		{link(20, 700), link(40, 20), 900_000, 0.5, 0.5},
		// The second link is the first to answer, and not the faster one.
		{link(120, 20), link(0.5, 12), 22_000, 0.1, 0.08},
		{link(30, 37), link(0.3, 1), 53_000, 0.2, 0.2},
	} {
		c.first.Name, c.second.Name = "first", "second"
		for trips, most := range []float64{c.clear, c.tls} {
			cfg := Default(scenario.Scenario{Links: []scenario.Link{c.first, c.second}}, "3")
			cfg.Size, cfg.TLSTrips, cfg.HTTP2 = c.size, trips, trips > 0
			res, err := Run(cfg)
			if err != nil {
				t.Fatal(err)
			}
			if res.Seconds > most {
				t.Errorf("%v and %v, %d trips of TLS: %d bytes took %.3f s, not %.3f s", c.first, c.second, trips, c.size, res.Seconds, most)
			}
		}
	}
}

// TestALinkThatComesBackFartherAway: after an outage its round trips are ten times as
// long, and longer than an ordinary probe may take.
func TestALinkThatComesBackFartherAway(t *testing.T) {
	cfg := Default(scenario.Scenario{
		Links: []scenario.Link{
			{Name: "near", DownMbps: 10, RTT: 20 * time.Millisecond},
			{Name: "far", DownMbps: 40, RTT: 50 * time.Millisecond},
		},
		Events: []scenario.Event{
			{At: 2 * time.Second, Link: "far", Kind: scenario.Down},
			{At: 4 * time.Second, Link: "far", Kind: scenario.Up},
			{At: 4 * time.Second, Link: "far", Kind: scenario.RTT, Value: 500},
		},
	}, "3")
	cfg.Size = 60e6
	res, err := RunWithBound(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if most := 1.05 * res.Reference; res.Seconds > most {
		t.Errorf("it took %.2f s, not %.2f s", res.Seconds, most)
	}
}

// TestOutagesOfAllLinks: a sender waits twice as long after each packet that was lost,
// and has to be asked anew when its link is back.
func TestOutagesOfAllLinks(t *testing.T) {
	down := func(link string, from, to time.Duration) []scenario.Event {
		return []scenario.Event{
			{At: from * time.Millisecond, Link: link, Kind: scenario.Down},
			{At: to * time.Millisecond, Link: link, Kind: scenario.Up},
		}
	}
	wlan := scenario.Link{Name: "wlan0", DownMbps: 80, RTT: 30 * time.Millisecond}
	lte := scenario.Link{Name: "rmnet0", DownMbps: 40, RTT: 50 * time.Millisecond}
	for _, c := range []struct {
		links  []scenario.Link
		events []scenario.Event
	}{
		{[]scenario.Link{wlan}, down("wlan0", 2000, 5000)},
		{[]scenario.Link{wlan}, append(down("wlan0", 1000, 2500), down("wlan0", 4000, 8000)...)},
		{[]scenario.Link{wlan, lte}, append(down("wlan0", 1000, 5000), down("rmnet0", 1100, 5000)...)},
		{[]scenario.Link{wlan}, down("wlan0", 4800, 8000)}, // at the end
	} {
		cfg := Default(scenario.Scenario{Links: c.links, Events: c.events}, "3")
		cfg.Size = 50e6
		res, err := RunWithBound(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Efficiency < 0.9 || res.WastedBytes > cfg.Size/200 {
			t.Errorf("%v: %.3f of the bound, %d bytes in vain", c.events, res.Efficiency, res.WastedBytes)
		}
	}
}
