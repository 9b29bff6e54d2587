package page

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/study"
	"github.com/mlget/mlget/pkg/scheduler"
)

// made is a made-up run over two links, as large as a real one.
type made struct {
	algorithm string
	links     []string
	mbps      []float64 // of each link when it is at its best
	bytes     float64   // of each link
	seed      uint64
	steps     int // of the scheduler, per second
}

// ramp is how long the second link takes to its best rate, in s.
const ramp = 2.5

// events are those of the run.
func (m made) events() (events []event.Event) {
	const tick = 0.2
	random := rand.New(rand.NewPCG(m.seed, 1))
	at := func(s float64) scheduler.Time { return scheduler.FromSeconds(s) }
	started := event.RunStarted{Version: "1.0.0", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(m.seed) * time.Minute), Algorithm: m.algorithm, Files: 1}
	techs := []string{"wifi", "lte"}
	for i, name := range m.links {
		started.Links = append(started.Links, event.LinkInfo{Name: name, Bind: "device", Tech: techs[i%2]})
	}
	add := func(e event.Event) { events = append(events, e) }
	add(started)
	add(event.PowerSource{Source: "battery", Interval: time.Second})
	for i := range 5 {
		add(event.Power{At: at(float64(i)), Source: "battery", Watts: 0.7 + 0.01*random.Float64()})
	}
	const zero = 5.0
	add(event.FileStarted{At: at(zero), URL: "http://example.org/a", Output: "a"})
	add(event.ObjectKnown{At: at(zero + 0.05), EffectiveURL: "http://example.org/a", Size: int64(m.bytes) * int64(len(m.links)), HTTP: "1.1", Ranges: true})
	for i := range m.links {
		add(event.RequestStarted{At: at(zero), Link: scheduler.LinkID(i), Chunk: scheduler.ChunkID(i), End: int64(m.bytes)})
	}
	done, ended := make([]float64, len(m.links)), make([]float64, len(m.links))
	wander := make([]float64, len(m.links))
	for i := range wander {
		wander[i] = 1 - 0.1*random.Float64()*float64(i)
	}
	now := 0.0
	for left := len(m.links); left > 0; now += tick {
		sample := event.Sample{At: at(zero + now + tick), Size: int64(m.bytes) * int64(len(m.links))}
		watts := 0.7
		for i := range m.links {
			rate := m.mbps[i] * wander[i] * (1 - 0.05*float64(i)*random.Float64())
			if i == 1 {
				rate *= min(1, 0.2+0.8*now/ramp)
			}
			before := done[i]
			done[i] = min(m.bytes, done[i]+rate*tick*1e6/8)
			if done[i] > before {
				watts += 1 + rate/100
			}
			if done[i] == m.bytes && ended[i] == 0 {
				ended[i] = zero + now + tick*(done[i]-before)/(rate*tick*1e6/8)
				left--
				add(event.RequestEnded{
					At: at(ended[i]), Link: scheduler.LinkID(i), Chunk: scheduler.ChunkID(i), Bytes: int64(m.bytes),
					Outcome: event.OutcomeDone, Sent: at(zero), FirstByte: at(zero + 0.03), LastByte: at(ended[i]),
				})
			}
			sample.Links = append(sample.Links, event.LinkSample{Bytes: int64(done[i]), Rate: rate * 1e6 / 8, Bandwidth: rate * 1e6 / 8, RTT: 20 * time.Millisecond, InFlight: 1})
			sample.Done += int64(done[i])
		}
		add(sample)
		for s := range m.steps / 5 {
			add(event.Step{At: at(zero + now), Input: scheduler.Input{Kind: scheduler.Progress, Chunk: scheduler.ChunkID(s), Bytes: sample.Done, RTT: scheduler.Millisecond}})
		}
		if whole := math.Round(now/tick) * tick; math.Abs(whole-math.Round(whole)) < 0.01 {
			add(event.Power{At: at(zero + now), Source: "battery", Watts: watts})
			add(event.Usage{At: at(zero + now), CPU: time.Duration((now*0.04 + 0.001*random.Float64()) * 1e9), RSS: int64(14e6 + 1e6*now/10), SystemCPU: time.Duration((100 + now*0.3 + 0.02*math.Sin(3*now)) * 1e9)})
		}
	}
	add(event.Usage{At: at(zero + now + 0.01), CPU: time.Duration(now * 0.04 * 1e9), RSS: int64(14e6 + 1e6*now/10)})
	add(event.FileEnded{At: at(zero + now), Output: "a", Size: int64(m.bytes) * int64(len(m.links))})
	for i := range 12 {
		watts := 0.7
		if i < 8 {
			watts = 1.1
		}
		add(event.Power{At: at(zero + now + float64(i) + 0.5), Source: "battery", Watts: watts})
	}
	totals := make([]event.LinkTotals, len(m.links))
	for i := range totals {
		totals[i].Connections = 1
	}
	add(event.RunEnded{At: at(zero + now + 12), CPU: time.Duration(now * 0.04 * 1e9), MaxRSS: 16e6, Links: totals})
	return events
}

func (m made) write(t testing.TB, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := record.NewWriter(f)
	for _, e := range m.events() {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// campaign writes n runs of each of seven approaches, of so many MB.
func campaign(t testing.TB, dir string, n int, size float64, steps int) {
	t.Helper()
	both, rates := []string{"wlan0", "rmnet0"}, []float64{79, 60}
	for i := range n {
		seed := uint64(i)
		for a, m := range []made{
			{algorithm: "single", links: both[:1], mbps: rates[:1], bytes: size * 1e6},
			{algorithm: "single", links: both[1:], mbps: rates[1:], bytes: size * 1e6},
			{algorithm: "naive", links: both, mbps: rates, bytes: size * 0.5e6},
			{algorithm: "1", links: both, mbps: []float64{79, 45}, bytes: size * 0.5e6},
			{algorithm: "2", links: both, mbps: []float64{79, 50}, bytes: size * 0.5e6},
			{algorithm: "3", links: both, mbps: []float64{70, 65}, bytes: size * 0.5e6},
			{algorithm: "exec:mine", links: both, mbps: []float64{71, 66}, bytes: size * 0.5e6},
		} {
			m.seed, m.steps = seed*7+uint64(a), steps
			m.write(t, filepath.Join(dir, fmt.Sprintf("%d-%03d.jsonl", a, i)))
		}
	}
}

// read reads a directory of runs, all of which have to be.
func read(t testing.TB, dir string) *study.Study {
	t.Helper()
	runs, errs := study.Read(t.Context(), []string{dir}, energy.Models{})
	for _, err := range errs {
		t.Fatal(err)
	}
	for _, r := range runs { // the name of a temporary directory is in no golden file
		r.Name, r.Source = filepath.Base(r.Name), "runs"
	}
	return study.New(runs, nil)
}
