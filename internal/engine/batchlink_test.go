package engine

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// TestBatchCap: a link's allowance holds for all files of a batch together, and
// when all are spent, the batch is over.
func TestBatchCap(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint("both ", both), timeless(func(t *bubble) {
			const most = 500_000
			r := newRig(t)
			r.nets[0].rate, r.nets[1].rate = 8*mib, 4*mib
			r.terms[0].Cap = most
			if both {
				r.terms[1].Cap = most
			}
			h := r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 100, true)...)
			n := h.brought()
			if n[0] > most || both && n[1] > most {
				t.Errorf("%v bytes over links that may carry %d", n, most)
			}
			if !both { // and the other one did the rest
				h.right()
				return
			}
			for id := range scheduler.LinkID(2) {
				if state, reason := h.last(id); state != event.LinkCapped {
					t.Errorf("link %d is %s: %s", id, state, reason)
				}
			}
			if !errors.Is(h.err, ErrCapped) {
				t.Errorf("error %v", h.err)
			}
			h.tidy()
		}))
	}
}

// TestBatchLinkJoins: a link that joins takes part, and one that has moved goes on.
func TestBatchLinkJoins(t *testing.T) {
	timeless(func(t *bubble) {
		first, second := &testLink{name: "a", rate: mib}, &testLink{name: "b", rate: mib}
		r, after := joining(t, 2, first)
		r.nets = append(r.nets, second)
		after(mib, func() { r.come(1, second) })
		after(2*mib, func() {
			r.links[0].Renew(first, true)
			first.breakAll()
		})
		h := r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 120, false)...)
		h.right()
		if n := h.carried(2); n[0] == 0 || n[1] == 0 {
			t.Errorf("the links carried %v bytes", n)
		}
	})(t)
}

// TestBatchStalls: a body that comes to a halt is asked for again, and the others go
// on.
func TestBatchStalls(t *testing.T) {
	timeless(func(t *bubble) {
		over := make(chan struct{})
		sh := &shop{}
		sh.gate = func(w http.ResponseWriter, r *http.Request, o *object) bool {
			if o.body.Seed != 12 || o.requests.Load() > 1 {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", o.body.Size-1, o.body.Size))
			w.Header().Set("Content-Length", fmt.Sprint(o.body.Size))
			w.Header().Set("Etag", o.etag)
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(bytesOf(o.body, 0, o.body.Size/2))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return true
		}
		s := serve(t, sh)
		t.Cleanup(func() { close(over) })
		r := newRig(t, &testLink{name: "a"})
		r.cfg.NoFailover, r.cfg.NoSteal = true, true // which would see to it before
		r.cfg.StallTimeout = 500 * time.Millisecond
		h := r.haul(t.Context(), Batch{}, mixed(s, 60, false)...)
		h.right()
	})(t)
}

// TestBatchPortalAndAsides: files that are downloaded by themselves do without a link that was given
// up since there is a portal in front of it, until it is renewed.
func TestBatchPortalAndAsides(t *testing.T) {
	for _, back := range []bool{false, true} {
		t.Run(fmt.Sprint("renewed ", back), timeless(func(t *bubble) {
			sh := &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
				if o.body.Seed%10 == 0 {
					o.lengthless(w)
				}
				return o.body.Seed%10 == 0
			}}
			s := serve(t, sh)
			portal := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "<html>please log in</html>")
			}))
			good := s.Listener.Addr().String()
			b := &testLink{name: "b", latency: 30 * time.Millisecond}
			r := newRig(t, &testLink{name: "a", to: portal.Listener.Addr().String()}, b)
			r.engine().Close()
			if back {
				b.rate = mib // so that there is something left by then
				time.AfterFunc(time.Second, func() {
					r.nets[0].lead(good)
					r.links[0].Renew(r.nets[0], false)
				})
			}
			h := r.haul(t.Context(), Batch{}, mixed(s, 400, false)...)
			h.right()
			var lost, since, alone bool
			asked := 0 // since it was given up
			for _, e := range h.events {
				switch e := e.(type) {
				case event.LinkChanged:
					if e.Link == 0 {
						since = since || lost && e.State == event.LinkUnused
						lost = lost || e.State == event.LinkLost
					}
				case event.RequestStarted:
					if lost && e.Link == 0 {
						asked++
						alone = alone || e.File%10 == 9 && e.End < guessSize
					}
				}
			}
			if !lost || !back && asked > 0 {
				t.Errorf("the link was given up: %v; %d requests over it after that", lost, asked)
			}
			if back && (!since || !alone) {
				t.Errorf("the link was back: %v; a file by itself has asked it: %v", since, alone)
			}
		}))
	}
}

// TestBatchLinkThatDoesNotAnswer: of files that are downloaded by themselves not each one
// waits for a link that is known not to answer.
func TestBatchLinkThatDoesNotAnswer(t *testing.T) {
	for _, c := range []struct {
		name         string
		length, dead bool
	}{
		{"of no known length, the link is dead", false, true},
		{"of no known length, its server is busy", false, false},
		{"without ranges, its server is busy", true, false},
	} {
		t.Run(c.name, timeless(func(t *bubble) {
			s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
				if c.length {
					o.whole(w)
				} else {
					o.lengthless(w)
				}
				return true
			}})
			r := newRig(t)
			r.cfg.Tries = 20
			r.nets[1].hole.Store(c.dead)
			if !c.dead {
				r.nets[1].to = serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
				})).Listener.Addr().String()
			}
			begun := time.Now()
			r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: s, size: 10_000}}, 60)...).right()
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		}))
	}
}

// TestBatchFewFilesAtOnce: where so many files may be in progress at once, a slow link that
// comes first does not have all of them while a fast one has nothing to do.
func TestBatchFewFilesAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  tuning.Mode
		files int // at once
		n     int
	}{{tuning.HAT, 1, 100}, {tuning.HAT, 2, 100}, {tuning.HAT, 4, 200}, {tuning.Manual, 0, 40}} {
		t.Run(fmt.Sprint(c.mode, " ", c.files), timeless(func(t *bubble) {
			nets := []*testLink{
				{name: "slow", rate: mib / 8, latency: 20 * time.Millisecond},
				{name: "fast", rate: 8 * mib, latency: 20 * time.Millisecond},
			}
			var took [2]time.Duration // over both links, and over the fast one alone
			for i := range took {
				r := newRig(t, nets[i:]...)
				begun := time.Now()
				w := ware{base: serve(t, &shop{}), size: 200_000, known: true}
				r.haul(t.Context(), Batch{Mode: c.mode, Concurrency: c.files}, slices.Repeat([]ware{w}, c.n)...).right()
				took[i] = time.Since(begun)
			}
			if took[0] > took[1]*3/2+2*time.Second {
				t.Errorf("over both links it took %v, over the fast one alone %v", took[0], took[1])
			}
		}))
	}
}

// TestBatchOneAtATimeBesideADeadLink: the good one does not wait for the other's probes.
func TestBatchOneAtATimeBesideADeadLink(t *testing.T) {
	timeless(func(t *bubble) {
		var took [2]time.Duration // over one link, and beside the other one
		for i := range took {
			nets := []*testLink{{name: "a", rate: mib, latency: 20 * time.Millisecond}, {name: "b", rate: mib, latency: 20 * time.Millisecond}}
			r := newRig(t, nets[:1+i]...)
			time.AfterFunc(500*time.Millisecond, func() { nets[1].hole.Store(true) })
			begun := time.Now()
			w := ware{base: serve(t, &shop{}), size: 200_000, known: true}
			r.haul(t.Context(), Batch{Concurrency: 1}, slices.Repeat([]ware{w}, 150)...).right()
			took[i] = time.Since(begun)
		}
		if took[1] > took[0]*5/4 {
			t.Errorf("beside a link that died it took %v, without that link %v", took[1], took[0])
		}
	})(t)
}
