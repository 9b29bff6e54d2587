package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// brought is how many payload bytes each of two links has received, waste included.
func (o *outcome) brought() (n [2]int64) {
	for _, e := range of[event.RequestEnded](o) {
		n[e.Link] += e.Bytes
	}
	return n
}

// last is the last state of a link, and the last reason that was given for one.
func (o *outcome) last(id scheduler.LinkID) (state event.LinkState, reason string) {
	for _, e := range of[event.LinkChanged](o) {
		if e.Link == id {
			state = e.State
			if e.Reason != "" {
				reason = e.Reason
			}
		}
	}
	return state, reason
}

func TestCapIsObeyedToTheByte(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		algorithm   string
		most        int64
		parallelism int
	}{
		{"1", 1_000_003, 0},
		{"3", 1_000_003, 0},
		{"3", 2_500_000, 3},
		{"single", 700_001, 0},
		{"naive", 700_001, 0},
		{"3", 5, 0}, // not worth a request
	} {
		t.Run(c.algorithm, timeless(func(t *bubble) {
			o := newObject(8 * mib)
			r := newRig(t)
			r.cfg.Algorithm, r.cfg.Parallelism = c.algorithm, c.parallelism
			r.nets[0].rate, r.nets[1].rate = 8*mib, 4*mib
			r.terms[0].Cap = c.most
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			n := got.brought()[0]
			if n > c.most {
				t.Errorf("%d bytes over a link that may carry %d", n, c.most)
			}
			if c.most > 100 && n < c.most-16<<10 {
				t.Errorf("%d bytes over a link that may carry %d: there was more to be had", n, c.most)
			}
			if state, reason := got.last(0); state != event.LinkCapped || !strings.Contains(reason, "allowance") {
				t.Errorf("it is %s: %s", state, reason)
			}
		}))
	}
}

// Two downloads at once know nothing of each other.
func TestCapIsForAllDownloads(t *testing.T) {
	timeless(func(t *bubble) {
		const most = 2_000_000
		o := newObject(4 * mib)
		url := at(t, serve(t, o), "", "/f")
		r := newRig(t)
		r.terms[0].Cap = most
		r.nets[1].rate = 8 * mib
		e := r.engine()
		defer e.Close()
		second, err := New(r.cfg, r.links)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		job := r.job(url)
		job.Target.Name, job.ID = "out2", 1
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := second.Download(t.Context(), job); err != nil {
				t.Error(err)
			}
		})
		if _, err := e.Download(t.Context(), r.job(url)); err != nil {
			t.Error(err)
		}
		wg.Wait()
		got := &outcome{t: t, events: r.drain()}
		if n := got.brought()[0]; n > most || n < most/2 {
			t.Errorf("%d bytes over a link that may carry %d", n, most)
		}
	})(t)
}

func TestNothingIsLeftToSpend(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(4 * mib)
		url := at(t, serve(t, o), "", "/f")
		r := newRig(t)
		r.terms[0].Cap, r.terms[1].Cap = mib, mib
		if got := r.get(url); !errors.Is(got.err, ErrCapped) {
			t.Fatalf("got %v, want ErrCapped", got.err)
		}
		// What came is kept for the next run.
		r.links, r.terms[1].Cap = nil, 0
		got := r.get(url)
		got.right(o.body)
		if n := got.brought(); n[0]+n[1] > 3*mib {
			t.Errorf("%v bytes of the rest", n)
		}
	})(t)
}

// Without ranges there is one stream, and it goes on over the next link, from the
// beginning.
func TestCapOfOneStream(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(2 * mib)
		o.gate = o.noRanges
		r := newRig(t)
		r.terms[1].Backup = true // or it would be read from in the first place
		r.terms[0] = Terms{Bandwidth: 1e9, Terms: scheduler.Terms{Cap: mib}}
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if n := got.brought(); n[0] > mib || n[1] < 2*mib {
			t.Errorf("%v bytes over the links", n)
		}
	})(t)
}

// TestOneStreamOverALinkThatMay: of links that all answer with the whole object, one that
// may carry all of it, at any rate, is read from.
func TestOneStreamOverALinkThatMay(t *testing.T) {
	for name, terms := range map[string]Terms{
		"rate": {Bandwidth: 1e9, Rate: 100_000}, "cap": {Bandwidth: 1e9, Terms: scheduler.Terms{Cap: mib}},
	} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(4 * mib)
			o.gate = o.noRanges
			near := &testLink{name: "lte", rate: 8 * mib, latency: 10 * time.Millisecond}
			r := newRig(t, near, &testLink{name: "wifi", rate: 8 * mib, latency: 50 * time.Millisecond})
			r.terms[0] = terms
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			if n := got.brought(); n[0] > 0 {
				t.Errorf("bytes by link: %v", n)
			}
		}))
	}
}

// TestCapOfUnknownLengths: who does not know how much is to come reserves nothing that
// others need, though all files together need every byte.
func TestCapOfUnknownLengths(t *testing.T) {
	t.Parallel()
	for _, most := range []int64{mib, 60_000} {
		t.Run(fmt.Sprint(most), timeless(func(t *bubble) {
			sh := &shop{}
			sh.gate = func(w http.ResponseWriter, _ *http.Request, o *object) bool {
				w.(http.Flusher).Flush()
				time.Sleep(100 * time.Millisecond) // others have begun, too
				_, _ = io.Copy(w, o.body.Reader())
				return true
			}
			s := serve(t, sh)
			r := newRig(t, &testLink{name: "a"})
			r.terms[0].Cap = most
			r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: s, size: 10_000}}, 6)...).right()
		}))
	}
}

// TestAllowanceIsWaitedFor: what is reserved is not spent yet.
func TestAllowanceIsWaitedFor(t *testing.T) {
	timeless(func(t *bubble) {
		a := &allowance{bounded: true, most: 100}
		take := func(n, want int64) {
			t.Helper()
			if got, err := a.take(t.Context(), new(transfer), n); got != want || err != nil {
				t.Errorf("took %d, want %d: %v", got, want, err)
			}
		}
		take(1000, 100)
		time.AfterFunc(time.Second, func() { a.receive(100, 30) })
		take(40, 40)
		time.AfterFunc(time.Second, func() { a.receive(40, 40) })
		take(1000, 30)
		time.AfterFunc(time.Second, func() { a.receive(30, 30) })
		take(1, 0)

		a = &allowance{bounded: true, most: 100}
		take(100, 100)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrInterrupted)
		if _, err := a.take(ctx, new(transfer), 1); !errors.Is(err, ErrInterrupted) || classOf(err) != fetch.Canceled {
			t.Error(err)
		}
	})(t)
}

// TestAllowanceComesInPortions: what a plan has beyond a portion is waited for, what it counts
// beside payload is not there to be received, and nothing is left when both are used.
func TestAllowanceComesInPortions(t *testing.T) {
	timeless(func(t *bubble) {
		a := &allowance{bounded: true, later: 1000, low: make(chan struct{}, 1)}
		take := func(n, want int64) {
			t.Helper()
			if got, err := a.take(t.Context(), new(transfer), n); got != want || err != nil {
				t.Errorf("took %d, want %d: %v", got, want, err)
			}
			a.receive(want, want)
		}
		if n := a.left(); n != 1000 {
			t.Errorf("%d bytes are left", n)
		}
		time.AfterFunc(time.Second, func() { a.allow(100, 900) })
		take(1000, 100)
		<-a.low
		time.AfterFunc(time.Second, func() { a.allow(600, 400) })
		if used := a.count(400); used != 400 { // 300 of them headers
			t.Errorf("%d bytes are used", used)
		}
		take(1000, 200)
		if n := a.left(); n != 400 {
			t.Errorf("%d bytes are left", n)
		}
		if used := a.count(350); used != 350 {
			t.Errorf("%d bytes are used", used)
		}
		if a.allow(600, 0) {
			t.Error("nothing was added")
		}
		take(1000, 250)
		take(1, 0)
		if !a.allow(700, 0) {
			t.Error("something was added")
		}
		take(1000, 100)
	})(t)
}

// TestAPlanIsRenewed: a link for which nothing was left of its plan is used again in the
// same download when there is more.
func TestAPlanIsRenewed(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(8 * mib)
		r := newRig(t)
		r.nets[0].rate, r.nets[1].rate = 8*mib, mib
		r.terms[0] = Terms{Plan: true, Terms: scheduler.Terms{Cap: mib}}
		url := at(t, serve(t, o), "", "/f")
		e := r.engine()
		defer e.Close()
		l := r.links[0]
		var wg sync.WaitGroup
		wg.Go(func() {
			l.Allow(mib/2, mib/2)
			time.Sleep(100 * time.Millisecond)
			l.Allow(mib, 0)
			time.Sleep(2 * time.Second)
			if got := l.allowance.got.Load(); got > mib || got < mib-16<<10 {
				t.Errorf("%d bytes of the first plan", got)
			}
			l.Allow(3*mib, 0)
		})
		_, err := e.Download(t.Context(), r.job(url))
		wg.Wait()
		got := &outcome{t: t, events: r.drain()}
		if n := got.brought()[0]; err != nil || n > 3*mib || n < 2*mib {
			t.Errorf("%d bytes over a link that may carry %d", n, 3*mib)
		}
	})(t)
}

// TestCapIsWhatTheObjectHas: that its last byte was the last one allowed is no failure,
// though nobody had told its length.
func TestCapIsWhatTheObjectHas(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(100_000)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.(http.Flusher).Flush()
			_, _ = io.Copy(w, o.body.Reader())
			return true
		}
		u := at(t, serve(t, o), "", "/f")
		r := newRig(t, &testLink{name: "a"})
		r.terms[0].Cap = o.body.Size
		r.get(u).right(o.body)
		r.links, r.terms[0].Cap = nil, o.body.Size-1
		if got := r.get(u); !errors.Is(got.err, ErrCapped) {
			t.Errorf("got %v, want ErrCapped", got.err)
		}
	})(t)
}

// A link whose allowance is spent is not asked again for each file of a batch that is
// downloaded by itself.
func TestSpentLinkIsLeftAlone(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		r.terms[1] = Terms{Bandwidth: 1e9, Terms: scheduler.Terms{Cap: 100_000}} // which is rather believed
		s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			o.lengthless(w)
			return true
		}})
		h := r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: s, size: 100_000}}, 60)...)
		h.right()
		n, spent := 0, false
		for _, e := range h.events {
			switch e := e.(type) {
			case event.LinkChanged:
				spent = spent || e.Link == 1 && e.State == event.LinkCapped
			case event.RequestStarted:
				if spent && e.Link == 1 {
					n++
				}
			}
		}
		if !spent || n > 0 {
			t.Errorf("spent: %v; %d requests over the link after that", spent, n)
		}
	})(t)
}

func TestBackupIsForBadTimes(t *testing.T) {
	t.Parallel()
	for _, algorithm := range scheduler.Names() {
		t.Run(algorithm, timeless(func(t *bubble) {
			o := newObject(4 * mib)
			r := newRig(t)
			r.cfg.Algorithm = algorithm
			r.terms[0].Backup = true
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			if n := r.nets[0].dials.Load(); n > 0 {
				t.Errorf("%d connections over the backup", n)
			}
			if _, reason := got.last(0); !strings.Contains(reason, "backup") {
				t.Errorf("the reason given is %q", reason)
			}
		}))
	}
	t.Run("they come", timeless(func(t *bubble) {
		o := newObject(4 * mib)
		r := newRig(t)
		r.terms[1].Backup = true
		r.nets[0].rate = 4 * mib
		var wg sync.WaitGroup
		wg.Go(func() {
			if r.await(t.Context(), mib) {
				r.nets[0].refuse.Store(true)
				r.nets[0].breakAll()
			}
		})
		got := r.get(at(t, serve(t, o), "", "/f"))
		wg.Wait()
		got.right(o.body)
		if n := got.brought()[1]; n < mib {
			t.Errorf("the backup carried %d bytes", n)
		}
	}))
}

// A costly link is left alone for a small file, and the reason is told.
func TestASmallFileWakesNobody(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(2 * mib)
		r := newRig(t)
		r.cfg.Energy = scheduler.EnergyMin
		wifi := scheduler.Radio{ActiveMW: 133, MWPerMbps: 140, PromotionMJ: 10, TailMJ: 28, TailTime: 240 * scheduler.Millisecond}
		lte := scheduler.Radio{ActiveMW: 1288, MWPerMbps: 60, PromotionMJ: 315, TailMJ: 12300, TailTime: 11 * scheduler.Second}
		r.terms[0] = Terms{Bandwidth: 1e7, Terms: scheduler.Terms{Radio: lte, Costly: true}}
		r.terms[1] = Terms{Bandwidth: 1e7, Terms: scheduler.Terms{Radio: wifi}}
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if n := r.nets[0].dials.Load(); n > 0 {
			t.Errorf("%d connections over the costly link", n)
		}
		if _, reason := got.last(0); !strings.Contains(reason, "J to wake it") {
			t.Errorf("the reason given is %q", reason)
		}
	})(t)
}

// TestCapCountsWhatNobodyWants: the bodies of errors and redirects are received like any
// other, and are told as waste.
func TestCapCountsWhatNobodyWants(t *testing.T) {
	const useless = 20_000
	answer := func(w http.ResponseWriter, code int) {
		w.Header().Set("Location", "/object")
		w.Header().Set("Content-Length", fmt.Sprint(useless))
		w.WriteHeader(code)
		_, _ = w.Write(make([]byte, useless))
	}
	t.Run("errors", timeless(func(t *bubble) {
		const most = 50_000
		o := newObject(mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			answer(w, http.StatusInternalServerError)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 1000
		r.terms[0].Cap = most
		got := r.get(at(t, serve(t, o), "", "/f"))
		n := got.brought()[0]
		if !errors.Is(got.err, ErrCapped) || n < 2*useless || n > most+4<<10 { // of which the last are in a buffer
			t.Errorf("%d bytes over a link that may carry %d, %v", n, most, got.err)
		}
		if wasted := got.wasted(); wasted != n {
			t.Errorf("%d bytes came, %d of them in vain", n, wasted)
		}
	}))
	t.Run("redirects", timeless(func(t *bubble) {
		o := newObject(100_000)
		o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if r.URL.Path == "/object" {
				return false
			}
			answer(w, http.StatusFound)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.terms[0].Cap = mib
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		n, wasted, redirected := got.brought()[0], got.wasted(), o.requests.Load()-int64(len(of[event.RequestStarted](got)))
		if redirected < 1 || wasted != redirected*useless || n != wasted+o.body.Size {
			t.Errorf("%d bytes came, %d of them in vain, with %d redirects", n, wasted, redirected)
		}
	}))
	t.Run("of many files", timeless(func(t *bubble) {
		sh := &shop{}
		sh.gate = func(w http.ResponseWriter, r *http.Request, _ *object) bool {
			if strings.HasPrefix(r.URL.Path, "/object") {
				return false
			}
			answer(w, http.StatusNotFound)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		const most = 100_000
		r.terms[0].Cap = most
		h := r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: serve(t, sh), size: 10_000}}, 60)...)
		n := int64(0)
		for _, e := range h.events {
			if e, ok := e.(event.RequestEnded); ok {
				n += e.Bytes
				if e.Wasted != e.Bytes {
					t.Errorf("%d of %d bytes in vain", e.Wasted, e.Bytes)
				}
			}
		}
		if n < most-useless || n > most+useless {
			t.Errorf("%d bytes over a link that may carry %d", n, most)
		}
	}))
}

// wasted is how many payload bytes were thrown away.
func (o *outcome) wasted() (n int64) {
	for _, e := range of[event.RequestEnded](o) {
		n += e.Wasted
	}
	return n
}
