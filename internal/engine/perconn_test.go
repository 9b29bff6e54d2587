package engine

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// slow sends rate bytes per second over each connection, as it has to: a piece, and
// then nothing until its time is over.
type slow struct {
	http.ResponseWriter
	rate float64
}

func (s *slow) Write(p []byte) (done int, err error) {
	const piece = 8 << 10
	for done < len(p) && err == nil {
		n := 0
		n, err = s.ResponseWriter.Write(p[done:min(len(p), done+piece)])
		done += n
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		time.Sleep(time.Duration(float64(n) / s.rate * float64(time.Second)))
	}
	return done, err
}

// TestServersLimitTheRateOfAConnection: where they do, a link gets many, unless so many
// are asked for.
func TestServersLimitTheRateOfAConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		parallelism int
		size        int64
		least, most int
	}{
		{"a large file", 0, 24 * mib, 8, 40},
		{"one is asked for", 1, 6 * mib, 1, 1},
		{"a small file", 0, 2 * mib, 1, 1},
	} {
		t.Run(c.name, timeless(func(t *bubble) {
			o := newObject(c.size)
			var mu sync.Mutex
			from := map[string]bool{}
			limit := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				from[r.RemoteAddr] = true
				mu.Unlock()
				o.ServeHTTP(&slow{ResponseWriter: w, rate: mib}, r)
			})
			r := newRig(t, &testLink{name: "a", rate: 32 * mib, latency: 10 * time.Millisecond})
			r.cfg.Parallelism = c.parallelism
			got := r.get(at(t, serve(t, limit), "", "/f"))
			if got.err != nil {
				t.Fatal(got.err)
			}
			if n := len(of[event.ConnOpened](got)); n != len(from) || n < c.least || n > c.most {
				t.Errorf("%d connections, from %d addresses; want %d to %d", n, len(from), c.least, c.most)
			}
		}))
	}
}

// bounding answers so many requests at a time, each at 2 MiB/s, and the others with a status, which
// it counts: 503 as nginx does with limit_conn, or what its administrator prefers.
type bounding struct {
	http.Handler
	bound  int
	status int

	mu              sync.Mutex
	active, refused int
}

func (b *bounding) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	served := b.active < b.bound
	if served {
		b.active++
	} else {
		b.refused++
	}
	b.mu.Unlock()
	if !served {
		w.WriteHeader(b.status)
		return
	}
	defer func() {
		b.mu.Lock()
		b.active--
		b.mu.Unlock()
	}()
	b.Handler.ServeHTTP(&slow{ResponseWriter: w, rate: 2 * mib}, r)
}

// boundStatuses are what servers answer to those who make too many requests at a time.
func boundStatuses() []int {
	return []int{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusForbidden}
}

// TestServersBoundRequests: where they do, a far link's dozens of connections are given up but for
// as many as are served, and those are asked for a large part each.
func TestServersBoundRequests(t *testing.T) {
	for _, status := range boundStatuses() {
		for _, bound := range []int{1, 3} {
			t.Run(fmt.Sprint(status, " beyond ", bound), timeless(func(t *bubble) {
				o := newObject(24 * mib)
				b := &bounding{Handler: o, bound: bound, status: status}
				r := newRig(t, farLink(4*mib))
				r.cfg.Parallelism, r.cfg.Record = 0, true
				got := r.get(at(t, serve(t, b), "", "/f"))
				got.right(o.body)
				told, largest := 0, int64(0)
				for _, e := range of[event.Step](got) {
					told = max(told, e.Input.Bounded)
					for _, a := range e.Actions {
						if a.Kind == scheduler.Start {
							largest = max(largest, a.Range.Len())
						}
					}
				}
				if told == 0 || b.refused > 3*scheduler.MaxStreams || largest < mib {
					t.Errorf("told of %d at a time, %d requests refused, %d bytes asked for at most", told, b.refused, largest)
				}
			}))
		}
	}
}

// TestWhatIsAskedForBesides counts the other streams of a request's link, its own as well if that
// is being answered, as then it has another connection; and of many files those of its site alone.
func TestWhatIsAskedForBesides(t *testing.T) {
	answered, here, there := new(fetch.Response), &file{site: new(site)}, &file{site: new(site)}
	own := &transfer{request: request{link: 1, stream: 2}}
	o := &owner{transfers: []*transfer{
		own,
		{request: request{link: 1, stream: 2, file: here}, account: account{resp: answered}},
		{request: request{link: 0, stream: 3, file: here}, account: account{resp: answered}},
		{request: request{link: 1, stream: 3, file: here}, account: account{resp: answered}},
		{request: request{link: 1, stream: 3, file: here}},
		{request: request{link: 1, stream: 4, file: here}},
		{request: request{link: 1, stream: 5, file: there}, account: account{resp: answered}},
	}}
	if asked, answers := o.otherRequests(own); asked != 4 || answers != 3 {
		t.Errorf("%d asked for, %d answered", asked, answers)
	}
	own.file = here
	if asked, answers := o.otherRequests(own); asked != 3 || answers != 2 {
		t.Errorf("of its site %d asked for, %d answered", asked, answers)
	}
}

// TestServersBoundRequestsOfAList: no file fails because others are served.
func TestServersBoundRequestsOfAList(t *testing.T) {
	for _, trip := range []time.Duration{20 * time.Millisecond, 300 * time.Millisecond} {
		for _, bound := range []int{1, 3} {
			for _, status := range boundStatuses() {
				t.Run(fmt.Sprint(status, " beyond ", bound, " after ", trip), timeless(func(t *bubble) {
					b := &bounding{Handler: &shop{}, bound: bound, status: status}
					far := farLink(8 * mib)
					far.trip, far.latency = trip, trip
					r := newRig(t, far)
					r.cfg.Parallelism = 0
					s := serve(t, b)
					h := r.haul(t.Context(), Batch{}, ware{base: s, size: 3 * mib}, ware{base: s, size: 3 * mib}, ware{base: s, size: 3 * mib}, ware{base: s, size: 3 * mib})
					h.right()
					if h.err != nil || b.refused == 0 || b.refused > 4*scheduler.MaxStreams {
						t.Errorf("%d requests refused, %v", b.refused, h.err)
					}
					for file, err := range h.errs {
						if err != nil {
							t.Errorf("file %d: %v", file, err)
						}
					}
				}))
			}
		}
	}
}

// TestServersBoundRequestsOfSmallFiles: each of them has one request, which says little about why
// it is refused.
func TestServersBoundRequestsOfSmallFiles(t *testing.T) {
	for _, status := range boundStatuses() {
		for _, bound := range []int{1, 2} {
			t.Run(fmt.Sprint(status, " beyond ", bound), timeless(func(t *bubble) {
				b := &bounding{Handler: &shop{}, bound: bound, status: status}
				r := newRig(t, farLink(8*mib))
				r.cfg.Parallelism = 0
				h := r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: serve(t, b), size: 30_000}}, 60)...)
				h.right()
			}))
		}
	}
}

// TestForbiddenFilesAreNoBound: that some files are forbidden says nothing about how many requests
// a server answers, and they are asked for a few times at most.
func TestForbiddenFilesAreNoBound(t *testing.T) {
	timeless(func(t *bubble) {
		sh := &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			if o.body.Seed%4 == 0 {
				w.WriteHeader(http.StatusForbidden)
				return true
			}
			return false
		}}
		r := newRig(t, farLink(8*mib))
		r.cfg.Parallelism, r.cfg.Record = 0, true
		wares := slices.Repeat([]ware{{base: serve(t, sh), size: 200_000}}, 60)
		h := r.haul(t.Context(), Batch{}, wares...)
		for i := range wares {
			if (i+1)%4 != 0 {
				h.has(i)
				continue
			}
			if err := h.errs[event.FileID(i)]; classOf(err) != fetch.Status {
				t.Errorf("file %d: %v", i, err)
			}
			if n := sh.times(wares[i].path); n > 3+mayBeBoundMost { // what is refused while others are served may be due to these
				t.Errorf("file %d was asked for %d times", i, n)
			}
		}
		for _, e := range of[event.Step](&h.outcome) {
			if e.Input.Bounded > 0 {
				t.Errorf("the scheduler is told of a bound of %d", e.Input.Bounded)
			}
		}
	})(t)
}

// TestAFileThatIsAlwaysBusyFails, and is not asked for without end as long as another file of its
// site is served, which takes a minute and a half.
func TestAFileThatIsAlwaysBusyFails(t *testing.T) {
	timeless(func(t *bubble) {
		var asked atomic.Int64
		sh := &shop{gate: func(w http.ResponseWriter, r *http.Request, _ *object) bool {
			busy := strings.HasPrefix(r.URL.Path, "/1/")
			if busy {
				asked.Add(1)
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return busy
		}}
		r := newRig(t, farLink(256<<10))
		r.cfg.Parallelism = 0
		s := serve(t, sh)
		h := r.haul(t.Context(), Batch{}, ware{base: s, size: mib}, ware{base: s, size: 24 * mib})
		if h.errs[0] == nil || h.errs[1] != nil {
			t.Errorf("%v", h.errs)
		}
		if n := asked.Load(); n < busyMost || n > scheduler.MaxStreams {
			t.Errorf("it was asked for %d times", n)
		}
	})(t)
}

// TestServersEndEachConnection: where they do, each link gets few, and none for little.
func TestServersEndEachConnection(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(24 * mib)
		once := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Connection", "close")
			o.ServeHTTP(w, r)
		})
		r := newRig(t,
			&testLink{name: "a", rate: 6 * mib, latency: 10 * time.Millisecond, trip: 10 * time.Millisecond},
			&testLink{name: "b", rate: 3 * mib, latency: 40 * time.Millisecond, trip: 40 * time.Millisecond})
		got := r.get(at(t, serve(t, once), "", "/f"))
		if got.err != nil {
			t.Fatal(got.err)
		}
		if n := len(of[event.ConnOpened](got)); n > 7 {
			t.Errorf("%d connections", n)
		}
		for _, e := range of[event.RequestEnded](got) {
			if e.Bytes < mib/8 {
				t.Errorf("link %d: a connection for %d bytes", e.Link, e.Bytes)
			}
		}
	})(t)
}
