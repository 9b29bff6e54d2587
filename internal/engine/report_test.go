package engine

import (
	"net/http"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
)

// TestRateOfIdleLink: a link that waits to ask again receives nothing, and has no rate.
func TestRateOfIdleLink(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(16 * mib)
		began := time.Now()
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			if since := time.Since(began); since < time.Second || since > 6*time.Second {
				return false
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(503)
			return true
		}
		r := newRig(t, &testLink{name: "a", rate: 4 * mib, cut: 5 * mib})
		r.cfg.Tries = 0
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		idle, last := 0, event.LinkSample{}
		for _, s := range of[event.Sample](got) {
			now := s.Links[0]
			if now.Bytes > 0 && now.Bytes == last.Bytes && now.InFlight == 0 {
				if idle++; now.Rate != 0 || now.Bandwidth == 0 {
					t.Errorf("at %v nothing is asked for: rate %.0f, bandwidth %.0f", s.At, now.Rate, now.Bandwidth)
				}
			}
			last = now
		}
		if idle < 10 {
			t.Errorf("%d samples while the link was idle", idle)
		}
	})(t)
}

// TestRateOfBusyLink: between two requests a link is not idle, as long as there is
// something to ask for.
func TestRateOfBusyLink(t *testing.T) {
	// A batch may have had nothing to ask a link for until now: its rate is back at the next
	// sample.
	watch := func(t testing.TB, samples []event.Sample, mayPause bool) {
		t.Helper()
		var all []event.LinkSample
		seen := 0
		for _, s := range samples {
			if whole := s.File == event.Batch || s.File == 0; whole && 4*s.Done < 3*s.Size {
				all = append(all, s.Links[0])
			}
		}
		for i := 1; i+1 < len(all); i++ {
			if all[i].Bytes > all[i-1].Bytes && all[i+1].Bytes > all[i].Bytes && all[i-1].Rate > 0 {
				if seen++; all[i].Rate == 0 && (all[i+1].Rate == 0 || !mayPause) {
					t.Errorf("no rate on the way, at %d bytes, sample %d of %d", all[i].Bytes, i, len(all))
				}
			}
		}
		if seen < 5 {
			t.Errorf("%d samples on the way", seen)
		}
	}
	nets := func() []*testLink {
		return []*testLink{{name: "a", rate: 4 * mib, latency: 50 * time.Millisecond}, {name: "b", rate: 2 * mib, latency: 20 * time.Millisecond}}
	}
	for _, algorithm := range []string{"single", "naive", "1", "2", "3"} {
		t.Run(algorithm, timeless(func(t *bubble) {
			o := newObject(24 * mib)
			r := newRig(t, nets()...)
			r.cfg.Algorithm, r.cfg.StaticLimit = algorithm, mib/4
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			watch(t, of[event.Sample](got), false)
		}))
	}
	t.Run("batch", timeless(func(t *bubble) {
		r := newRig(t, nets()...)
		r.cfg.Record = false // or samples may be dropped
		h := r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 400, false)...)
		h.right()
		watch(t, of[event.Sample](&h.outcome), true)
	}))
}
