package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// joining is a rig with one link that is there and spare ones for those that come
// once so many bytes have been received.
func joining(t testing.TB, spares int, nets ...*testLink) (*rig, func(bytes int64, then func())) {
	t.Helper()
	r := newRig(t, nets...)
	r.spares = spares
	r.engine().Close() // makes the links
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return r, func(bytes int64, then func()) {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
			defer cancel()
			if r.await(ctx, bytes) {
				then()
			}
		})
	}
}

// come makes a link join as number i.
func (r *rig) come(i int, n *testLink) { r.links[i].Join(n, Terms{}) }

func TestLinkJoins(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"one", "two", "to a stream", "HTTP/2", "when the first is lost"} {
		t.Run(kind, timeless(func(t *bubble) {
			o := newObject(16 * mib)
			first := &testLink{name: "a", rate: 4 * mib}
			second, third := &testLink{name: "b", rate: 4 * mib}, &testLink{name: "c", rate: 4 * mib}
			r, after := joining(t, 3, first)
			r.nets = append(r.nets, second, third)
			job := r.job(at(t, serve(t, o), "", "/f"))
			want := []bool{true, true, false}
			switch kind {
			case "two":
				after(2*mib, func() { r.come(2, third) })
				want[2] = true
			case "to a stream":
				c := newConsumer()
				job.Stdout = c
				defer func() {
					if c.hash() != o.body.SHA256() {
						t.Error("wrong hash")
					}
				}()
			case "HTTP/2":
				r.cfg.HTTP.Protocol = fetch.HTTP2PriorKnowledge
			case "when the first is lost":
				r.cfg.Tries = 2
			}
			after(mib, func() {
				r.come(1, second)
				if kind == "when the first is lost" {
					first.refuse.Store(true)
					first.breakAll()
				}
			})
			got := r.do(context.Background(), job)
			if got.err != nil {
				t.Fatal(got.err)
			}
			if job.Stdout == nil {
				got.right(o.body)
			}
			for i, n := range got.carried(3) {
				if (n > 0) != want[i] {
					t.Errorf("link %d carried %d bytes", i, n)
				}
			}
			for _, s := range of[event.Sample](got) {
				if len(s.Links) < 1 || len(s.Links) > 3 || !want[2] && len(s.Links) == 3 {
					t.Fatalf("a sample of %d links", len(s.Links))
				}
			}
		}))
	}
}

// TestNextDownloadHasTheJoined: who joined once is there for what follows.
func TestNextDownloadHasTheJoined(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(6 * mib)
		second := &testLink{name: "b", rate: 4 * mib}
		r, _ := joining(t, 1, &testLink{name: "a", rate: 4 * mib})
		r.nets = append(r.nets, second)
		u := at(t, serve(t, o), "", "/f")
		if got := r.get(u); got.carried(2)[1] != 0 || got.err != nil {
			t.Fatalf("%v, %v", got.carried(2), got.err)
		}
		r.come(1, second)
		r.dir = t.TempDir()
		got := r.get(u)
		got.right(o.body)
		if got.carried(2)[1] == 0 {
			t.Error("the second link carried nothing")
		}
	})(t)
}

// TestJoinedLinkIsChecked: a link that joins has to agree about the object, like
// those from the start.
func TestJoinedLinkIsChecked(t *testing.T) {
	t.Parallel()
	t.Run("another edge: sent to the first one's address", timeless(func(t *bubble) {
		o := newObject(12 * mib)
		s, nets := edges(t, o, tagged(o, `"edge-2"`))
		r, after := joining(t, 1, nets[0])
		r.nets = append(r.nets, nets[1])
		after(mib, func() { r.come(1, nets[1]) })
		got := r.get(at(t, s, "site.test", "/f"))
		got.right(o.body)
		if got.carried(2)[1] == 0 || !got.noticed("now uses 127.0.0.1") {
			t.Errorf("carried %v", got.carried(2))
		}
	}))
	t.Run("another object: left out", timeless(func(t *bubble) {
		o, other := newObject(12*mib), newObject(12*mib)
		other.body.Seed, other.etag = 99, `"other"`
		r, after := joining(t, 1, &testLink{name: "a", rate: 4 * mib})
		second := &testLink{name: "b", to: serve(t, other).Listener.Addr().String()}
		r.nets = append(r.nets, second)
		after(mib, func() { r.come(1, second) })
		got := r.get(at(t, serve(t, o), "site.test", "/f"))
		got.right(o.body)
		if got.carried(2)[1] != 0 || !got.noticed("b: lost") {
			t.Errorf("carried %v", got.carried(2))
		}
	}))
	t.Run("a portal: left out", timeless(func(t *bubble) {
		o := newObject(12 * mib)
		portal := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("log in")) })
		r, after := joining(t, 1, &testLink{name: "a", rate: 4 * mib})
		second := &testLink{name: "b", to: serve(t, portal).Listener.Addr().String()}
		r.nets = append(r.nets, second)
		after(mib, func() { r.come(1, second) })
		got := r.get(at(t, serve(t, o), "site.test", "/f"))
		got.right(o.body)
		if got.carried(2)[1] != 0 || !got.noticed("b: lost") {
			t.Errorf("carried %v", got.carried(2))
		}
	}))
}

// TestLostLinkComesBack: over another network, where it may even disagree.
func TestLostLinkComesBack(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		t.Run(fmt.Sprint("moved ", moved), timeless(func(t *bubble) {
			o := newObject(20 * mib)
			first, second := &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib}
			again := &testLink{name: "b", rate: 4 * mib}
			r, after := joining(t, 0, first, second)
			r.nets = append(r.nets, again)
			r.cfg.Tries = 1
			after(2*mib, func() {
				second.refuse.Store(true)
				second.breakAll()
			})
			after(8*mib, func() { r.links[1].Renew(again, moved) })
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			if !got.noticed("b: lost") || !got.noticed("b: it is back") || again.bytes.Load() < mib {
				t.Errorf("over the new network came %d bytes", again.bytes.Load())
			}
			// lost, unused, and used again; on a busy machine it may be banned as well
			var back, used bool
			for _, c := range of[event.LinkChanged](got) {
				back = back || c.Link == 1 && c.State == event.LinkUnused
				used = used || c.Link == 1 && c.State == event.LinkUsed && back
			}
			if !back || !used {
				t.Errorf("%+v", of[event.LinkChanged](got))
			}
		}))
	}
}

// TestMovedLinkDropsItsConnections: nobody waits for what cannot come, even
// where no other link could step in.
func TestMovedLinkDropsItsConnections(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprint("whole ", whole), timeless(func(t *bubble) {
			o := newObject(8 * mib)
			if whole {
				o.gate = o.noRanges
			}
			old, fresh := &testLink{name: "a", rate: 8 * mib}, &testLink{name: "a", rate: 16 * mib}
			r, after := joining(t, 0, old)
			r.nets = append(r.nets, fresh)
			r.cfg.StallTimeout = 0 // would wait for ever
			after(2*mib, func() {
				old.hole.Store(true)
				r.links[0].Renew(fresh, true)
			})
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			if old.dials.Load() == 0 || fresh.dials.Load() == 0 {
				t.Errorf("%d and %d connections", old.dials.Load(), fresh.dials.Load())
			}
			if got.noticed("lost") {
				t.Error("it was lost")
			}
		}))
	}
}

// TestReferenceMoved: that the network of the first response was left says
// nothing about the object, whatever the next one serves.
func TestReferenceMoved(t *testing.T) {
	timeless(func(t *bubble) {
		o, other := newObject(16*mib), newObject(16*mib)
		other.body.Seed, other.etag = 99, `"other"`
		first := &testLink{name: "a", rate: 4 * mib}
		second := &testLink{name: "b", rate: 4 * mib, latency: 300 * time.Millisecond}
		strange := &testLink{name: "a", to: serve(t, other).Listener.Addr().String()}
		r, after := joining(t, 0, first, second)
		r.nets = append(r.nets, strange)
		after(6*mib, func() { r.links[0].Renew(strange, true) })
		got := r.get(at(t, serve(t, o), "site.test", "/f"))
		got.right(o.body)
		if !got.noticed("a: lost") {
			t.Error("a is still trusted")
		}
	})(t)
}

// TestFlappingLink: however often it moves, the object comes, and what is asked
// for is bounded by how often it moved.
func TestFlappingLink(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(12 * mib)
		first, second := &testLink{name: "a", rate: 6 * mib}, &testLink{name: "b", rate: 6 * mib}
		r, after := joining(t, 0, first, second)
		const flaps = 60
		stop := make(chan struct{})
		defer close(stop)
		after(mib, func() {
			for range flaps {
				select {
				case <-time.After(10 * time.Millisecond):
					r.links[1].Renew(second, true)
				case <-stop:
					return
				}
			}
		})
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if n := second.dials.Load(); n > flaps+10 {
			t.Errorf("%d connections", n)
		}
	})(t)
}

// TestAllLost: links that may still come are no reason to go on.
func TestAllLost(t *testing.T) {
	timeless(func(t *bubble) {
		first := &testLink{name: "a"}
		r, _ := joining(t, 2, first)
		first.refuse.Store(true)
		got := r.get(at(t, serve(t, newObject(mib)), "", "/f"))
		var fe *fetch.Error
		if !errors.As(got.err, &fe) || fe.Class != fetch.Refused {
			t.Errorf("error %v", got.err)
		}
	})(t)
}

// TestReturnEndsAWait: a link that has failed for a while is asked at once when its interface
// says that it is back, unless it is its server that asked for the wait.
func TestReturnEndsAWait(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		t.Run(fmt.Sprint("the server asked for it ", asked), timeless(func(t *bubble) {
			o := newObject(8 * mib)
			var busy atomic.Bool
			o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
				if busy.Load() {
					w.Header().Set("Retry-After", "5")
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				return busy.Load()
			}
			a := &testLink{name: "a", rate: 4 * mib}
			r := newRig(t, a)
			r.cfg.Tries = 20
			r.engine().Close()    // it made the links
			var back atomic.Int64 // a scheduler.Time
			time.AfterFunc(500*time.Millisecond, func() {
				a.refuse.Store(!asked)
				busy.Store(asked)
				a.breakAll()
				for !asked && a.dials.Load() < 7 {
					time.Sleep(10 * time.Millisecond)
				}
				time.Sleep(time.Second)
				a.refuse.Store(false)
				busy.Store(false)
				back.Store(int64(time.Since(r.cfg.Started)))
				r.links[0].Returned()
				r.links[0].Renew(a, false)
			})
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			for _, e := range of[event.RequestStarted](got) {
				if wait := e.At - scheduler.Time(back.Load()); wait >= 0 {
					if waits := wait > scheduler.Second; waits != asked {
						t.Errorf("it was asked %.2f s after it was back", wait.Seconds())
					}
					break
				}
			}
		}))
	}
}
