package tuning

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// model is a link that fills up at once: n connections carry n*buffer a round
// trip, up to a bandwidth in bytes per second.
type model struct {
	bandwidth, buffer float64
	rtt               scheduler.Time
	queue             scheduler.Time // how long data waits when the connections could send more; 0: nobody tells
	power             Power          // what it draws; the zero value: DefaultPower
	told              Power          // what the Tuner is told that it draws
	gauge             scheduler.Time // between two readings of the power; 0: at any time; below 0: it is not measured
}

// carries is what n connections carry, in bytes per second.
func (m *model) carries(n int) float64 {
	return min(m.bandwidth, float64(n)*m.buffer/m.rtt.Seconds())
}

// draws is what the link draws with n connections that carry so much, in watts.
func (m *model) draws(n int, rate float64) float64 {
	p := cmp.Or(m.power, DefaultPower())
	return p.Watts + p.WattsPerMbps*rate*8/1e6 + p.WattsPerConnection*float64(n)
}

// play steps a Tuner through a job over model links, and gives all changes and the
// plans at the end.
func play(t *testing.T, cfg Config, links []model, sets ...[2]int64) (changes []Change, plans []scheduler.Plan, seconds, joules float64) {
	t.Helper()
	cfg.Links = len(links)
	tuner, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o := Observation{Links: make([]LinkView, len(links))}
	plans = make([]scheduler.Plan, len(links))
	for _, s := range sets {
		for range s[0] {
			tuner.Size(s[1])
			class := tuner.Class(s[1])
			o.Left[class] += s[1]
			o.Files[class]++
		}
	}
	const step = 250 * scheduler.Millisecond
	for now := scheduler.Time(0); o.left() > 0; now += step {
		if now > 10000*scheduler.Second {
			t.Fatal("the job does not end")
		}
		for i, m := range links {
			n := plans[i].Connections()
			if n == 0 { // as the Core starts
				n = few
				if m.rtt >= 100*scheduler.Millisecond {
					n = 32
				}
			}
			v := LinkView{Up: true, Streams: n, Power: m.told}
			if now >= 2*m.rtt {
				v.RTT = m.rtt
				v.Rate = m.carries(n)
				v.Bandwidth = max(v.Rate, o.Links[i].Bandwidth)
				waits := scheduler.FromSeconds(min(1e3, float64(n)*m.buffer/m.bandwidth)) - m.rtt
				v.Trip = m.rtt + max(0, min(m.queue, waits))
			}
			o.Links[i] = v
			bytes := v.Rate * step.Seconds()
			joules += step.Seconds() * m.draws(n, v.Rate)
			for k := range o.Left {
				part := min(o.Left[k], int64(bytes))
				o.Left[k] -= part
				o.Received[k] += part
				bytes -= float64(part)
			}
		}
		switch gauge := links[0].gauge; {
		case gauge < 0:
			o.Joules = -1
		case gauge == 0 || now%gauge == 0:
			o.Joules, o.SpentAt, o.Every = joules, now, gauge
		}
		for _, c := range tuner.Step(now, o, nil) {
			if err := c.Plan.Validate(); err != nil || c.Why == "" {
				t.Fatalf("%+v: %v", c, err)
			}
			plans[c.Link] = c.Plan
			changes = append(changes, c)
		}
		seconds = now.Seconds()
	}
	return changes, plans, seconds, joules
}

const toSydney = 290 * scheduler.Millisecond

func whole() model { return model{bandwidth: 7.36e6, buffer: 1e9, rtt: toSydney} }
func phone() model { return model{bandwidth: 7.36e6, buffer: phoneBuffer, rtt: toSydney} }

// How many connections each mode ends up with.
func TestModes(t *testing.T) {
	html, video := [2]int64{1500, 131e3}, [2]int64{64, 17.5e6}
	for _, c := range []struct {
		name string
		mode Mode
		link model
		sets [][2]int64
		want int
	}{
		{"HAT: 147 first windows in 2.13 MB, an eighth of them would be 19", HAT, whole(), [][2]int64{video}, many},
		{"over a short trip, 118 KB, a few", HAT, model{bandwidth: 7.36e6, buffer: 1e9, rtt: 16 * scheduler.Millisecond}, [][2]int64{video}, few},
		{"more where each has a small buffer: 33 fill it", HAT, model{bandwidth: 7.36e6, buffer: 65536, rtt: toSydney}, [][2]int64{video}, 2 * many},
		{"HAT: over before its connections have left slow start, so no plan", HAT, whole(), [][2]int64{{4, 131e3}}, 0},
		{"LowE: one fills it, two are tried", LowE, whole(), [][2]int64{html}, 1},
		{"LowE: one fills it", LowE, whole(), [][2]int64{video}, 1},
		{"LowE: 2.13 MB / 471 KB", LowE, phone(), [][2]int64{video}, 5},
		{"EHT: one fills it", EHT, whole(), [][2]int64{video}, 1},
		{"EHT: five do", EHT, phone(), [][2]int64{video}, 5},
	} {
		_, plans, _, _ := play(t, Config{Mode: c.mode}, []model{c.link}, c.sets...)
		if got := plans[0].Connections(); got != c.want {
			t.Errorf("%s: %d connections, want %d", c.name, got, c.want)
		}
	}
}

// Where data waits for the link, LowE tries no more connections; EHT tries some once, and
// gives them up.
func TestQueue(t *testing.T) {
	m := whole()
	m.queue = toSydney / 10
	for _, set := range [][2]int64{{1500, 131e3}, {64, 17.5e6}} {
		changes, _, _, _ := play(t, Config{Mode: LowE}, []model{m}, set)
		if got := tried(changes); !slices.Equal(got, []int{1}) {
			t.Errorf("LowE, %d files: %v", set[0], got)
		}
		changes, _, _, _ = play(t, Config{Mode: EHT}, []model{m}, set)
		if got := tried(changes); !slices.Equal(got, []int{1, 3, 1}) {
			t.Errorf("EHT, %d files: %v", set[0], got)
		}
	}
}

func TestChannels(t *testing.T) {
	changes, plans, _, _ := play(t, Config{Mode: EHT, Channels: []int{7}}, []model{whole()}, [2]int64{64, 17.5e6})
	if len(changes) != 1 || plans[0].Connections() != 7 {
		t.Errorf("%+v", changes)
	}
}

// Nothing is changed without need.
func TestCalm(t *testing.T) {
	for _, mode := range []Mode{HAT, LowE, Manual} {
		changes, _, _, _ := play(t, Config{Mode: mode}, []model{phone(), whole()}, [2]int64{1500, 131e3}, [2]int64{200, 640e3}, [2]int64{64, 17.5e6})
		if len(changes) > 12 {
			t.Errorf("%v: %d changes: %+v", mode, len(changes), changes)
		}
	}
}

func TestManual(t *testing.T) {
	changes, plans, _, _ := play(t, Config{Mode: Manual, Concurrency: 5, Parallelism: 2}, []model{whole(), phone()}, [2]int64{100, 640e3})
	for i, want := range []scheduler.Plan{
		{Classes: [scheduler.MaxClasses]scheduler.Share{{Connections: 6, Parallelism: 2, Pipelining: 1}}, Files: 5},
		{Classes: [scheduler.MaxClasses]scheduler.Share{{Connections: 4, Parallelism: 2, Pipelining: 1}}, Files: 5},
	} {
		if plans[i] != want || len(changes) != 2 {
			t.Errorf("%+v", changes)
		}
	}
	_, plans, _, _ = play(t, Config{Mode: Manual}, []model{whole()}, [2]int64{10, 640e3})
	if plans[0].Connections() != 1 || plans[0].Files != 1 {
		t.Errorf("like wget: %+v", plans[0])
	}
}

// Classes of the papers' sets together, over a link and over two.
func TestClasses(t *testing.T) {
	for _, mode := range []Mode{HAT, LowE, EHT} {
		_, plans, _, _ := play(t, Config{Mode: mode, Concurrency: 50}, []model{whole(), phone()}, [2]int64{1500, 131e3}, [2]int64{200, 640e3}, [2]int64{64, 17.5e6})
		for i := range plans {
			for k, s := range plans[i].Classes {
				if s.Connections == 0 || s.Parallelism == 0 || s.Pipelining != 0 {
					t.Errorf("%v, link %d: class %d has %+v", mode, i, k, s)
				}
			}
			if plans[i].Files != 50 {
				t.Errorf("%v: %d files at once", mode, plans[i].Files)
			}
		}
	}
}

// The three differ in what they are for, where connections are slow.
func TestPurposes(t *testing.T) {
	sets := [][2]int64{{1500, 131e3}, {200, 640e3}, {64, 17.5e6}}
	run := func(mode Mode) (seconds, joules float64) {
		_, _, seconds, joules = play(t, Config{Mode: mode}, []model{phone()}, sets...)
		return seconds, joules
	}
	hs, hj := run(HAT)
	es, ej := run(EHT)
	ls, lj := run(LowE)
	if hs > es || hs > ls {
		t.Errorf("HAT took %.1f s, EHT %.1f, LowE %.1f", hs, es, ls)
	}
	if lj > hj || ej > hj {
		t.Errorf("HAT took %.1f J, EHT %.1f, LowE %.1f", hj, ej, lj)
	}
}

func TestRebalance(t *testing.T) {
	tuner, err := New(Config{Mode: HAT, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		tuner.Size(131e3)
	}
	for range 100 {
		tuner.Size(20e6)
	}
	o := Observation{
		Links: []LinkView{{Up: true, Rate: 1e7, Bandwidth: 1e7, RTT: 100 * scheduler.Millisecond, Streams: 18}},
		Left:  [scheduler.MaxClasses]int64{0, 131e6, 2000e6},
		Files: [scheduler.MaxClasses]int{0, 1000, 100},
	}
	var plan scheduler.Plan
	var moved []string
	for now := scheduler.Time(0); now < 20*scheduler.Second; now += 250 * scheduler.Millisecond {
		o.Received[1] += 125e3
		o.Received[2] += 125e3
		for _, c := range tuner.Step(now, o, nil) {
			plan = c.Plan
			if strings.HasPrefix(c.Why, "rebalanced") {
				moved = append(moved, c.Why)
			}
		}
	}
	if len(moved) != 2 || moved[0] != "rebalanced: a connection from medium to large files" || plan.Connections() != 18 || plan.Classes[1].Connections != 7 {
		t.Errorf("%v, %+v", moved, plan)
	}
}

func TestNames(t *testing.T) {
	for i, name := range Names() {
		m, err := ParseMode(name)
		if err != nil || m != Mode(i) || m.String() != name || !strings.EqualFold(m.Title(), name) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	if _, err := ParseMode("fast"); err == nil {
		t.Error("there is no such mode")
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []Config{
		{},
		{Links: 1, Mode: 9},
		{Links: 1, Concurrency: -1},
		{Links: 1, Parallelism: 1000},
		{Links: 1, Sampling: -1},
		{Links: 1, Channels: []int{0}},
		{Links: 1, Channels: []int{}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// Whatever is observed, plans are valid, only for links that are up, and the same
// the second time.
func TestNonsense(t *testing.T) {
	for seed := range uint64(200) {
		var before []Change
		for again := range 2 {
			rng := rand.New(rand.NewPCG(seed, 5))
			cfg := Config{Mode: Mode(seed % 4), Links: 1 + rng.IntN(3), Concurrency: rng.IntN(3) * 10, Parallelism: rng.IntN(3)}
			tuner, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var all []Change
			now := scheduler.Time(0)
			for range 300 {
				o := Observation{Links: make([]LinkView, rng.IntN(cfg.Links+2)), Joules: rng.Float64()*100 - 20}
				for i := range o.Links {
					o.Links[i] = LinkView{
						Up: rng.IntN(10) > 0, Rate: float64(rng.IntN(3)) * rng.Float64() * 1e8, Bandwidth: float64(rng.IntN(3)) * rng.Float64() * 1e8,
						RTT: scheduler.Time(rng.Int64N(int64(scheduler.Second))) * scheduler.Time(rng.IntN(2)), Streams: rng.IntN(40),
					}
				}
				for k := range o.Left {
					o.Left[k], o.Files[k], o.Received[k] = rng.Int64N(1<<40)*rng.Int64N(2), rng.IntN(1000), rng.Int64N(1<<40)
				}
				if rng.IntN(3) == 0 {
					tuner.Size(rng.Int64N(1<<rng.IntN(50)) + rng.Int64N(2))
					tuner.Class(rng.Int64N(1<<40) - 1)
				}
				now += scheduler.Time(rng.Int64N(int64(2 * scheduler.Second)))
				from := len(all)
				all = tuner.Step(now, o, all)
				for _, c := range all[from:] {
					if err := c.Plan.Validate(); err != nil || c.Plan.Connections() == 0 || !o.view(int(c.Link)).Up {
						t.Fatalf("seed %d: %+v: %v", seed, c, err)
					}
				}
			}
			if again == 0 {
				before = all
				continue
			}
			if len(all) != len(before) {
				t.Fatalf("seed %d: %d changes and then %d", seed, len(before), len(all))
			}
			for i := range all {
				if all[i] != before[i] {
					t.Fatalf("seed %d: %+v and then %+v", seed, before[i], all[i])
				}
			}
		}
	}
}

// HAT keeps no more connections than fill the link: where data waits for it, some go, until
// the windows of those that stay are at their largest. The phone's link takes five.
func TestHATStopsWhereTheLinkIsFull(t *testing.T) {
	for _, c := range []struct {
		name        string
		link        model
		least, most int
	}{
		{"five fill it, and a few stay", phone(), few, few},
		{"one does, and a few stay", whole(), few, few},
		{"33 fill it: none goes", model{bandwidth: 7.36e6, buffer: 65536, rtt: toSydney}, 33, 2 * many},
	} {
		c.link.queue = toSydney * 3 / 2
		_, plans, _, _ := play(t, Config{Mode: HAT}, []model{c.link}, [2]int64{64, 17.5e6})
		if n := plans[0].Connections(); n < c.least || n > c.most {
			t.Errorf("%s: %d connections", c.name, n)
		}
	}
}
