package sim

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/race"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// goldenCrowd is how HAT does over links whose queues overflow.
type goldenCrowd struct {
	Scenario string  `json:"scenario"`
	Set      string  `json:"set"`
	Median   float64 `json:"median_efficiency"`
	Worst    float64 `json:"worst_efficiency"`
	Waste    float64 `json:"waste"`
}

// TestCrowded rehearses the laboratory's jobs of many files over links whose queues
// overflow. After a change: go test ./internal/sim -run Crowded -update.
func TestCrowded(t *testing.T) {
	seeds := 12
	if testing.Short() || race.Enabled {
		seeds = 2
	}
	least := map[string]float64{
		"sydney html/600": 0.94, "sydney image": 0.965, "sydney video/16": 0.965,
		"sydney-dual html/600": 0.92, "sydney-dual image": 0.955, "sydney-dual video/16": 0.955,
	}
	var all []goldenCrowd
	for _, name := range []string{"sydney", "sydney-dual"} {
		for _, set := range []string{"html/600", "image", "video/16"} {
			g := crowded(t, name, set, seeds)
			t.Logf("%+v", g)
			all = append(all, g)
			if seeds > 2 && (g.Median < least[name+" "+set] || g.Worst < 0.85 || g.Waste > 0.01) {
				t.Errorf("%+v", g)
			}
		}
	}
	if seeds == 2 {
		return
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compareFile(t, "testdata/crowded.json", append(text, '\n'))
}

func crowded(t *testing.T, name, set string, seeds int) goldenCrowd {
	t.Helper()
	sc, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := dataset.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	g := goldenCrowd{Scenario: name, Set: set}
	eff, waste := make([]float64, seeds), make([]float64, seeds)
	inParallel(seeds, func(i int) {
		cfg := Default(sc, "3")
		cfg.Seed, cfg.Crowded = uint64(i), true
		cfg.Batch = &Batch{Name: set, Files: Sizes(files), Tuning: tuning.Config{Mode: tuning.HAT}}
		cfg.Size = cfg.Batch.Bytes()
		res, err := RunWithBound(cfg)
		if err == nil {
			err = check(cfg, res, res.BoundSeconds)
		}
		if err != nil {
			t.Errorf("seed %d: %v", i, err)
			return
		}
		eff[i], waste[i] = res.Efficiency, float64(res.WastedBytes)/float64(res.SizeBytes)
	})
	slices.Sort(eff)
	slices.Sort(waste)
	g.Median, g.Worst, g.Waste = round(stats.Quantile(eff, 0.5)), round(eff[0]), round(stats.Quantile(waste, 0.5))
	return g
}

// crowd is a link of 1 MB/s with a round trip and a buffer of 100 ms, and connections
// that have windows of so many bytes at work.
func crowd(windows ...float64) *link {
	l := &link{crowded: true, rtt: 100 * scheduler.Millisecond, buffer: 100 * scheduler.Millisecond, fastest: 1e6, dice: rand.New(rand.NewPCG(1, 1))}
	l.capacity.bps = 1e6
	for _, w := range windows {
		l.conns = append(l.conns, &conn{window: w, n: 1, queue: []*request{{asked: 1 << 30, wanted: 1 << 30}}})
	}
	return l
}

func TestWindowsShareACrowdedLink(t *testing.T) {
	l := crowd(30e3, 90e3)
	l.share(1e6, 2)
	if a, b := l.conns[0].rate, l.conns[1].rate; a != 250e3 || b != 750e3 {
		t.Errorf("%.0f and %.0f bytes/s", a, b)
	}
}

// A full buffer delays answers by as long as it takes to drain, and costs windows; a
// link with room does neither.
func TestAQueueThatOverflows(t *testing.T) {
	l := crowd(50e3, 100e3)
	if d := l.queueing(); d != 50*scheduler.Millisecond {
		t.Errorf("150 kB under way where 100 kB fit wait for %v", d)
	}
	for range 100 {
		if l.dropped(0, l.conns[1]) {
			t.Fatal("a packet is dropped although there is room")
		}
	}
	l = crowd(250e3, 250e3)
	if d := l.queueing(); d != l.buffer {
		t.Errorf("a full buffer delays by %v", d)
	}
	drops := 0
	for range 1000 {
		c := *l.conns[0]
		if !l.dropped(0, &c) {
			continue
		}
		drops++
		if c.window >= 250e3 || c.heldTill < l.rtt {
			t.Fatalf("window %.0f, held until %v", c.window, c.heldTill)
		}
	}
	if drops < 250 || drops > 350 {
		t.Errorf("%d of 1000 lose a packet", drops)
	}
}

func TestACrowdedWindowGrows(t *testing.T) {
	for _, c := range []struct {
		lost      bool
		got, want float64
	}{{false, 100e3, 200e3}, {true, 100e3, 103.5e3}, {false, 40e3, 100e3}} {
		conn := conn{lost: c.lost, window: 100e3, roundGot: c.got}
		if conn.grow(); conn.window != c.want {
			t.Errorf("lost %v, %.0f received: %.0f", c.lost, c.got, conn.window)
		}
	}
}
