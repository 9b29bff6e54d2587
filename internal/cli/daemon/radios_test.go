package daemon

import (
	"math"
	"testing"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// twoLinks is a link of which there is a model, and one of which there is none, at a time.
type twoLinks struct{ now scheduler.Time }

func (l *twoLinks) Now() scheduler.Time { return l.now }
func (*twoLinks) Infos() []event.LinkInfo {
	return []event.LinkInfo{{Name: "x0"}, {Name: "y0", Tech: "unheard-of"}}
}

// TestRadiosAddUpOverDownloads: a radio of 1 W while bytes cross it, 0.5 W for the 2 s behind them,
// and nothing else. Two downloads at once keep it awake once, for 10 s: 10 J and 1 J. A third one
// comes long after, for 5 s: 5 J and 1 J.
func TestRadiosAddUpOverDownloads(t *testing.T) {
	models, err := energy.ParseModels([]byte(`{"device":"test","source":"made up","radios":{"x0":{"like":"wifi",
		"down_mw_per_mbps":0,"up_mw_per_mbps":0,"active_mw":1000,"per_connection_mw":0,"idle_mw":0,
		"promotion_mw":0,"promotion_ms":0,"tail_mw":500,"tail_ms":2000,"hold_ms":0}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const s = scheduler.Second
	links := &twoLinks{now: 1000 * s}
	r := &radios{models: *models, links: links}
	if got := r.Energy(); len(got) != 0 {
		t.Errorf("before the first download: %+v", got)
	}
	sampled := func(file event.FileID, at scheduler.Time, bytes int64) {
		r.add(file, event.Sample{At: at, Links: []event.LinkSample{{Bytes: bytes, Connections: 1}, {Bytes: bytes}}})
	}
	want := func(joules float64) {
		t.Helper()
		got := r.Energy()
		if len(got) != 1 || got[0].Name != "x0" || math.Abs(got[0].Joules-joules) > 1e-6 {
			t.Errorf("%+v, want %v J", got, joules)
		}
	}
	one, two := r.begin(), r.begin()
	for _, file := range []event.FileID{one, two} {
		r.add(file, event.RequestStarted{At: 1000 * s})
	}
	for i := range scheduler.Time(10) {
		sampled(one, (1001+i)*s, int64(i+1)*1e6)
		sampled(two, (1001+i)*s, int64(i+1)*2e6)
	}
	for _, file := range []event.FileID{one, two} {
		r.add(file, event.RequestEnded{At: 1010 * s, Bytes: 10e6 * int64(file+1), LastByte: 1010 * s})
		r.active--
	}
	want(11)
	links.now = 5000 * s
	third := r.begin()
	if third != 0 {
		t.Error("the run of the models goes on through a long silence")
	}
	want(11)
	r.add(third, event.RequestStarted{At: 5000 * s})
	for i := range scheduler.Time(5) {
		sampled(third, (5001+i)*s, int64(i+1)*1e6)
	}
	want(17)
}
