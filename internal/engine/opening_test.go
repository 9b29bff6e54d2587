package engine

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// farLink is a link over a long trip.
func farLink(rate int) *testLink {
	const trip = 300 * time.Millisecond
	return &testLink{name: "far", trip: trip, latency: trip, rate: rate}
}

// openings is how many connections the scheduler had made without a request.
func openings(o *outcome) (n int) {
	for _, e := range of[event.Step](o) {
		for _, a := range e.Actions {
			if a.Kind == scheduler.Open {
				n++
			}
		}
	}
	return n
}

// TestConnectionsMadeAhead: over a long trip they are made while the object's size is
// unknown. They count as nothing but connections, and none is left at the end.
func TestConnectionsMadeAhead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size     int64
		trip     time.Duration
		proto    fetch.HTTPVersion
		requests int // the least
		opened   int
		dials    int64
	}{
		"large":      {24 * mib, 0, 0, 48, 31, 48},
		"small":      {30_000, 0, 0, 1, 31, 32},
		"shared":     {100_000, 0, 0, 8, 31, 32},
		"near":       {3 * mib, 20 * time.Millisecond, 0, 1, 0, 1},
		"http2":      {100_000, 0, fetch.HTTP2PriorKnowledge, 8, 31, 32},
		"one stream": {-1, 0, 0, 1, 31, 32},
	} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(max(c.size, 30_000))
			if c.size < 0 {
				o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
					_, _ = w.Write(bytesOf(o.body, 0, o.body.Size)) // without ranges
					return true
				}
			}
			far := farLink(mib)
			if c.trip > 0 {
				far.trip, far.latency = c.trip, c.trip
			}
			r := newRig(t, far)
			r.cfg.HTTP.Protocol, r.cfg.Parallelism = c.proto, 0
			e := r.engine()
			defer e.Close()
			got := &outcome{t: t}
			got.res, got.err = e.Download(t.Context(), r.job(at(t, serve(t, o), "", "/f")))
			got.events = r.drain()
			got.check()
			got.right(o.body)
			if n := len(of[event.RequestStarted](got)); n < c.requests || c.requests == 1 && c.size < mib && n > 2 {
				t.Errorf("%d requests", n)
			}
			if n := openings(got); n != c.opened {
				t.Errorf("%d connections made ahead", n)
			}
			if n := far.dials.Load(); c.size != 24*mib && n != c.dials || n < c.dials {
				t.Errorf("%d connections", n)
			}
			for _, e := range of[event.RequestEnded](got) {
				if e.Outcome != event.OutcomeDone && e.Outcome != event.OutcomeCancelled {
					t.Errorf("%+v", e)
				}
			}
			if n := far.open(); c.size < mib && n > max(1, c.requests-1) { // not the first of many, which was asked for too much
				t.Errorf("%d connections are still open", n)
			}
		}))
	}
}

// TestConnectionsMadeAheadFail: nobody is to blame, and requests connect by themselves.
func TestConnectionsMadeAheadFail(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(24 * mib)
		far := farLink(mib)
		time.AfterFunc(200*time.Millisecond, func() { far.refuse.Store(true) })
		time.AfterFunc(500*time.Millisecond, func() { far.refuse.Store(false) })
		r := newRig(t, far)
		r.cfg.Parallelism = 0
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if openings(got) == 0 {
			t.Fatal("none was made")
		}
		for _, e := range of[event.LinkChanged](got) {
			if e.State != event.LinkUsed {
				t.Errorf("the link is %s: %s", e.State, e.Reason)
			}
		}
		for _, e := range of[event.RequestEnded](got) {
			if e.Retry {
				t.Errorf("%+v", e)
			}
		}
	})(t)
}

// TestUnusedConnectionsAreClosed, long before the download's end.
func TestUnusedConnectionsAreClosed(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(128 << 10) // for one connection, which takes 16 s
		far := farLink(8_000)
		var before, after atomic.Int64 // told by goroutines that nobody waits for
		time.AfterFunc(9*time.Second, func() { before.Store(int64(far.open())) })
		time.AfterFunc(12*time.Second, func() { after.Store(int64(far.open())) })
		r := newRig(t, far)
		r.cfg.Parallelism = 0
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if before.Load() != 32 || after.Load() != 1 {
			t.Errorf("%d connections after 9 s, %d after 12 s", before.Load(), after.Load())
		}
	})(t)
}
