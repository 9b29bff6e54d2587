package modelled

import (
	"math"
	"testing"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

const second = scheduler.Second

func started() event.RunStarted {
	return event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0", Tech: "wifi"}, {Name: "rmnet0", Tech: "lte"}, {Name: "tun0"}}}
}

// download is a run of two links: WiFi brings 5 MB/s from 0 to 4 s, LTE 2 MB/s
// from 2 to 4 s, in samples of 200 ms each.
func download(add func(event.Event)) {
	add(started())
	add(event.RequestStarted{At: 0, Link: 0, Chunk: 1})
	var wifi, lte int64
	for at := 200 * scheduler.Millisecond; at <= 4*second; at += 200 * scheduler.Millisecond {
		if at == 2200*scheduler.Millisecond {
			add(event.RequestStarted{At: 2 * second, Link: 1, Chunk: 2})
		}
		wifi += 1e6
		if at > 2*second {
			lte += 4e5
		}
		add(event.Sample{At: at, Links: []event.LinkSample{
			{Bytes: wifi, Connections: 1, TCP: event.TCPSegments{In: wifi / 1448, Out: wifi / 2896, DataIn: wifi / 1448, DataOut: 1}},
			{Bytes: lte, Connections: 1},
			{},
		}})
	}
	add(event.RequestEnded{At: 4 * second, Link: 0, Chunk: 1, Bytes: wifi, LastByte: 4 * second})
	add(event.RequestEnded{At: 4 * second, Link: 1, Chunk: 2, Bytes: lte, LastByte: 4 * second})
	add(event.RunEnded{At: 5 * second})
}

func TestRun(t *testing.T) {
	r := NewRun(energy.Models{})
	download(r.Add)
	links := r.Links()
	if len(links) != 3 {
		t.Fatalf("got %+v", links)
	}

	radio, _ := energy.Lookup("wifi")
	m := energy.NewMachine(radio, 0)
	in, out := int64(20_000_000)/1448, int64(20_000_000)/2896
	m.Step(int64(4*second), 20e6+52*in, 52*out, 1)
	if want := m.Energy().Dynamic; links[0].Name != "wlan0" || links[0].Model != "wifi" || math.Abs(links[0].Joules-want) > 1e-9 {
		t.Errorf("WiFi: %+v, want %g J", links[0], want)
	}
	if links[0].TailJoules <= 0 || links[0].TailJoules > 0.1 {
		t.Errorf("WiFi: %+v", links[0])
	}
	// 13812 packets, 1 request, and the segments without data.
	if want := 1e-6 * (6090*float64(in+1) + 176*float64(out-1)); math.Abs(links[0].TCPJoules-want) > 1e-9 {
		t.Errorf("TCP: %g J, want %g J", links[0].TCPJoules, want)
	}

	radio, _ = energy.Lookup("lte")
	m = energy.NewMachine(radio, 0)
	m.Step(int64(2*second), 0, 0, 0)
	m.Step(int64(4*second), 4e6, 0, 1)
	if want := m.Energy().Dynamic; links[1].Model != "lte" || math.Abs(links[1].Joules-want) > 1e-9 || links[1].TCPJoules != 0 {
		t.Errorf("LTE: %+v, want %g J", links[1], want)
	}
	if sum, want := links[1].Joules+links[1].TailJoules, 12+2*1.3+0.3; math.Abs(sum-want) > 2 {
		t.Errorf("LTE with its tail: %g J, want about %g J", sum, want)
	}
	if links[2] != (Link{Name: "tun0"}) {
		t.Errorf("a link of unknown kind: %+v", links[2])
	}

	// All is over: nothing changes any more.
	download(r.Add)
	for i, l := range r.Links() {
		if l != links[i] {
			t.Errorf("after the end: %+v, was %+v", l, links[i])
		}
	}
}

// TestRunWithDroppedSamples misses every sample: the requests know what came.
func TestRunWithDroppedSamples(t *testing.T) {
	whole, poor := NewRun(energy.Models{}), NewRun(energy.Models{})
	download(whole.Add)
	download(func(e event.Event) {
		if _, sample := e.(event.Sample); !sample {
			poor.Add(e)
		}
	})
	for i, want := range whole.Links()[:2] {
		got := poor.Links()[i]
		// What is missing are the headers that only the segments tell of.
		if got.Joules > want.Joules+1e-9 || got.Joules < 0.8*want.Joules {
			t.Errorf("link %d: %g J, with samples %g J", i, got.Joules, want.Joules)
		}
	}
}

// TestRunOfSeveralFiles has the bytes of two files in samples of their own.
func TestRunOfSeveralFiles(t *testing.T) {
	r := NewRun(energy.Models{})
	r.Add(started())
	r.Add(event.RequestStarted{At: 0, Link: 1, Chunk: 1})
	for at := second; at <= 4*second; at += second {
		for file := range event.FileID(2) {
			links := []event.LinkSample{{}, {Bytes: int64(at.Seconds()) * 1e6, Connections: 2}, {}}
			r.Add(event.Sample{At: at + scheduler.Time(file), File: file, Links: links})
		}
	}
	radio, _ := energy.Lookup("lte")
	m := energy.NewMachine(radio, 0)
	m.Step(int64(4*second)+1, 8e6, 0, 2)
	if got, want := r.Links()[1].Joules, m.Energy().Dynamic; math.Abs(got-want) > 1e-9 {
		t.Errorf("%g J, want %g J", got, want)
	}
}

// TestRunBelievesNothing takes in every kind of event and extreme numbers.
func TestRunBelievesNothing(t *testing.T) {
	r := NewRun(energy.Models{})
	for _, e := range eventtest.Every() {
		r.Add(e)
	}
	extremes := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64}
	for _, a := range extremes {
		for _, b := range extremes {
			r := NewRun(energy.Models{})
			r.Add(event.Sample{Links: make([]event.LinkSample, 1)})
			r.Add(started())
			for range 3 {
				tcp := event.TCPSegments{In: a, Out: b, DataIn: b, DataOut: a, Retrans: b}
				r.Add(event.RequestStarted{At: scheduler.Time(a), Link: scheduler.LinkID(int32(b))})
				r.Add(event.RequestStarted{At: scheduler.Time(b), Link: 1})
				r.Add(event.Sample{At: scheduler.Time(a), File: event.FileID(int32(a)), Links: []event.LinkSample{
					{Bytes: b, Connections: int(int32(b)), TCP: tcp}, {Bytes: a, Connections: int(int32(a)), TCP: tcp}, {}, {Bytes: 1},
				}})
				r.Add(event.RequestEnded{Link: 1, Bytes: a, LastByte: scheduler.Time(b)})
				r.Add(event.RequestEnded{Link: 0, Bytes: b, LastByte: scheduler.Time(a)})
			}
			r.Add(event.RunEnded{Links: []event.LinkTotals{{TCP: event.TCPSegments{In: b, Out: a}}}})
			for _, l := range r.Links() {
				for _, joules := range []float64{l.Joules, l.TailJoules, l.TCPJoules} {
					if !(joules >= 0) || math.IsInf(joules, 0) {
						t.Errorf("%d, %d: %+v", a, b, l)
					}
				}
			}
		}
	}
}

// A link that joins on the way is modelled from then on.
func TestLinkThatJoins(t *testing.T) {
	events := func(start event.RunStarted, joined ...event.Event) *Run {
		r := NewRun(energy.Models{})
		r.Add(start)
		for _, e := range joined {
			r.Add(e)
		}
		r.Add(event.RequestStarted{At: 3 * second, Link: 1, Chunk: 1})
		r.Add(event.Sample{At: 4 * second, Links: []event.LinkSample{{}, {Bytes: 5e6, Connections: 1}}})
		r.Add(event.RequestEnded{At: 4 * second, Link: 1, Chunk: 1, Bytes: 5e6, LastByte: 4 * second})
		r.Add(event.RunEnded{At: 4 * second})
		return r
	}
	lte, wifi := event.LinkInfo{Name: "rmnet0", Tech: "lte"}, event.LinkInfo{Name: "wlan0", Tech: "wifi"}
	late := events(event.RunStarted{Links: []event.LinkInfo{lte}}, event.LinkJoined{At: 2 * second, Link: 1, Info: wifi}, event.LinkJoined{Link: 9, Info: wifi}).Links()
	whole := events(event.RunStarted{Links: []event.LinkInfo{lte, wifi}}).Links()
	if len(late) != 2 || late[1] != whole[1] || late[1].Joules <= 0 {
		t.Errorf("%+v, had it been there from the start %+v", late, whole)
	}
}
