package tuning

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// best is the number of connections with the most Mbit/s per joule of a job, by the
// paper's definition and not by the Tuner's: all numbers are tried on a job of 1 Gbit.
func best(m *model, most int) (n int, ratio float64) {
	for k := 1; k <= most; k++ {
		if r := jobRatio(m, k); r > ratio {
			n, ratio = k, r
		}
	}
	return n, ratio
}

// jobRatio is the Mbit/s per joule of a job of 1 Gbit.
func jobRatio(m *model, n int) float64 {
	rate := m.carries(n)
	mbps := rate * 8 / 1e6
	seconds := 1000 / mbps
	return mbps / (m.draws(n, rate) * seconds)
}

// tried are the numbers of connections that a link had, in order.
func tried(changes []Change) (numbers []int) {
	for _, c := range changes {
		if n := c.Plan.Connections(); len(numbers) == 0 || numbers[len(numbers)-1] != n {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

const nearby = 60 * scheduler.Millisecond

// Two radios with opposite costs of a connection.
func costlyConnections() Power {
	return Power{Watts: 0.1, WattsPerMbps: 0.001, WattsPerConnection: 0.9}
}

func cheapConnections() Power { return Power{Watts: 2, WattsPerMbps: 0.001, WattsPerConnection: 0.005} }

// nearlyFull is a link of which one connection fills three quarters.
func nearlyFull() model {
	return model{bandwidth: 2.5e6, buffer: 0.75 * 2.5e6 * nearby.Seconds(), rtt: nearby}
}

// The paper's EHT: from one connection for each class on, by two.
func TestEHTBeginsAtOneConnectionAndGoesOnByTwo(t *testing.T) {
	changes, _, _, _ := play(t, Config{Mode: EHT}, []model{phone()}, [2]int64{64, 17.5e6})
	if got := tried(changes); !slices.Equal(got, []int{1, 3, 5, 7, 5}) {
		t.Errorf("tried %v", got)
	}
	changes, _, _, _ = play(t, Config{Mode: EHT}, []model{phone()}, [2]int64{1500, 131e3}, [2]int64{200, 640e3}, [2]int64{64, 17.5e6})
	kinds := 0
	for _, s := range changes[len(changes)-1].Plan.Classes {
		if s.Connections > 0 {
			kinds++
		}
	}
	if got := tried(changes); kinds < 2 || got[0] != 1 || got[1] != kinds {
		t.Errorf("%d classes, tried %v", kinds, got)
	}
}

// Two radios with opposite costs of a connection, told as models or measured, where
// the models then say the opposite.
func TestEHTGoesByWhatAConnectionCosts(t *testing.T) {
	for _, gauge := range []scheduler.Time{-1, 0, 250 * scheduler.Millisecond, scheduler.Second} {
		var chosen []int
		for _, power := range []Power{costlyConnections(), cheapConnections()} {
			m := nearlyFull()
			m.gauge, m.power, m.told = gauge, power, power
			if gauge >= 0 {
				m.told = costlyConnections()
				if power == costlyConnections() {
					m.told = cheapConnections()
				}
			}
			changes, plans, _, _ := play(t, Config{Mode: EHT}, []model{m}, [2]int64{200, 640e3})
			n := plans[0].Connections()
			want, ratio := best(&m, 16)
			if got := jobRatio(&m, n); got < 0.95*ratio {
				t.Errorf("readings every %v: %d connections (tried %v), %.2f of the best ratio, with %d", gauge, n, tried(changes), got/ratio, want)
			}
			last := changes[len(changes)-1]
			if last.Measured != (gauge >= 0) || last.Watts < 0.98*m.draws(n, m.carries(n)) || last.Watts > 1.02*m.draws(n, m.carries(n)) {
				t.Errorf("readings every %v: %+v, draws %g W", gauge, last, m.draws(n, m.carries(n)))
			}
			chosen = append(chosen, n)
		}
		if chosen[0] != 1 || chosen[1] < 2 {
			t.Errorf("readings every %v: %v connections", gauge, chosen)
		}
	}
}

// Readings that are too far apart for an interval to hold two are not gone by.
func TestEHTGoesByModelsWhereReadingsAreRare(t *testing.T) {
	m := nearlyFull()
	m.gauge, m.power, m.told = 20*scheduler.Second, costlyConnections(), cheapConnections()
	changes, plans, _, _ := play(t, Config{Mode: EHT}, []model{m}, [2]int64{200, 640e3})
	if last := changes[len(changes)-1]; last.Measured || last.Watts <= 0 || plans[0].Connections() < 2 {
		t.Errorf("%+v", last)
	}
}

// A ratio of the job, and not of an interval: those differ where twice the power buys
// more than the root of two in throughput.
func TestEHTRatioIsThatOfAJob(t *testing.T) {
	m := nearlyFull()
	m.power = Power{Watts: 0.01, WattsPerConnection: 0.1}
	m.buffer /= 2 // one connection brings 0.375 of the link: 1, 2 and 3 differ by more than their power
	_, plans, _, _ := play(t, Config{Mode: EHT}, []model{m}, [2]int64{200, 640e3})
	want, ratio := best(&m, 16)
	if got := jobRatio(&m, plans[0].Connections()); want == 1 || got < 0.95*ratio {
		t.Errorf("%d connections, best %d", plans[0].Connections(), want)
	}
}

// Jobs of less than 20 s are searched, with shorter steps; of one that is over before
// it can be, the plan says so.
func TestEHTOnShortJobs(t *testing.T) {
	m := nearlyFull()
	m.power = cheapConnections()
	changes, plans, seconds, _ := play(t, Config{Mode: EHT}, []model{m}, [2]int64{50, 640e3})
	want, ratio := best(&m, 16)
	if got := jobRatio(&m, plans[0].Connections()); seconds > 20 || got < 0.95*ratio {
		t.Errorf("%g s: %d connections (tried %v), best %d", seconds, plans[0].Connections(), tried(changes), want)
	}
	changes, plans, _, _ = play(t, Config{Mode: EHT}, []model{m}, [2]int64{3, 640e3})
	if why := changes[len(changes)-1].Why; plans[0].Connections() != 1 || !strings.Contains(why, "no time to try others") {
		t.Errorf("%+v", changes)
	}
}

// A power that is measured no more is modelled, and what was measured is not compared
// with it.
func TestEHTBeginsAnewWhenTheGaugeIsLost(t *testing.T) {
	tuner, err := New(Config{Mode: EHT, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		tuner.Size(640e3)
	}
	n, joules := 1, 0.0
	var changes []Change
	for now := scheduler.Time(0); now < 60*scheduler.Second; now += 250 * scheduler.Millisecond {
		o := Observation{
			Links:    []LinkView{{Up: true, Rate: float64(min(n, 4)) * 1e6, Bandwidth: 4e6, RTT: nearby, Streams: n, Power: cheapConnections()}},
			Left:     [scheduler.MaxClasses]int64{600e6},
			Files:    [scheduler.MaxClasses]int{1000},
			Received: [scheduler.MaxClasses]int64{int64(float64(now.Seconds()) * float64(min(n, 4)) * 1e6)},
		}
		joules += 0.25 * 100 // W: what no model says
		if o.Joules, o.SpentAt = joules, now; now > 4*scheduler.Second {
			o.Joules = -1
		}
		before := len(changes)
		changes = tuner.Step(now, o, changes)
		for _, c := range changes[before:] {
			n = c.Plan.Connections()
		}
	}
	last := changes[len(changes)-1]
	if last.Measured || last.Watts > 10 || n < 3 {
		t.Errorf("%+v", last)
	}
}

// A job is not taken for short by what a link is presumed to carry: the first bytes over a far
// link, before its rate is known, are no reason to end the search. 13 MB last for 40 s over
// 2.6 Mbit/s, and for 2 s at the presumed rate.
func TestEHTDoesNotSettleBeforeARateIsKnown(t *testing.T) {
	tuner, err := New(Config{Mode: EHT, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		tuner.Size(650e3)
	}
	view := LinkView{Up: true, RTT: 200 * scheduler.Millisecond, Streams: 1}
	o := Observation{Links: []LinkView{view}, Joules: -1}
	o.Files[0], o.Left[0], o.Received[0] = 20, 13e6, 15e3
	tuner.Step(600*scheduler.Millisecond, o, nil)
	if tuner.search.done {
		t.Fatal("settled before any rate was known")
	}
	o.Links[0].Rate, o.Links[0].Bandwidth = 330e3, 330e3
	if tuner.Step(800*scheduler.Millisecond, o, nil); tuner.search.done {
		t.Fatal("settled with 40 s to go")
	}
	o.Left[0] = 500e3
	if tuner.Step(scheduler.Second, o, nil); !tuner.search.done {
		t.Error("1.5 s are left, and a trial takes as long")
	}
}

// One connection carries 1 MB in every second but one, in which it carries 0.4. Two such
// seconds are no sample of it: four are, 0.85 MB/s, by which what three carry is judged.
func TestEHTTakesALongerSampleWhereARateScatters(t *testing.T) {
	tuner, err := New(Config{Mode: EHT, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 80 {
		tuner.Size(650e3)
	}
	o := Observation{Links: []LinkView{{Up: true, RTT: nearby, Rate: 1e6, Bandwidth: 1e6, Streams: 1}}, Joules: -1}
	o.Files[0], o.Received[0] = 80, 1000
	const step = 100 * scheduler.Millisecond
	var told []Change
	for now := scheduler.Time(0); now < 8*scheduler.Second && len(told) < 2; now += step {
		rate := 1e6
		if now > scheduler.Second && now <= 2*scheduler.Second { // the second interval
			rate = 0.4e6
		}
		o.Left[0] = 50e6 // a fiftieth of which lasts for a second
		told = append(told, tuner.Step(now, o, nil)...)
		o.Received[0] += int64(rate * step.Seconds())
	}
	if len(told) != 2 || told[1].Plan.Connections() != 3 {
		t.Fatalf("%+v", told)
	}
	var mbps float64
	if _, err := fmt.Sscanf(told[1].Why, "EHT: 3 connections after %f Mbit/s", &mbps); err != nil || mbps < 6.5 || mbps > 7.3 {
		t.Errorf("%q: %g Mbit/s", told[1].Why, mbps)
	}
}
