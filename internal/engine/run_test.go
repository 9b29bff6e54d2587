package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

func TestInterruptedThirtyTimes(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(32 * mib)
		r := newRig(t, &testLink{name: "a", rate: 8 * mib}, &testLink{name: "b", rate: 16 * mib, latency: 5 * time.Millisecond})
		u := at(t, serve(t, o), "", "/f")
		rng := rand.New(rand.NewPCG(1, 2))
		for range 30 { // about 15 MiB
			ctx, cancel := context.WithCancelCause(context.Background())
			go func(most int64) {
				if r.await(ctx, most) {
					cancel(ErrInterrupted)
				}
			}(r.received() + rng.Int64N(mib))
			got := r.do(ctx, r.job(u))
			cancel(nil)
			if !errors.Is(got.err, ErrInterrupted) {
				t.Fatal(got.err)
			}
			for _, e := range of[event.RequestEnded](got) {
				if e.Outcome != event.OutcomeCancelled && e.Outcome != event.OutcomeDone || e.Retry {
					t.Fatalf("an interrupted request ended as %s, retry %v: %s", e.Outcome, e.Retry, e.Error)
				}
			}
			journalHolds(t, r.job(u), o.body)
		}
		got := r.get(u)
		got.right(o.body)
		if ofKnown(t, got).Resumed == 0 {
			t.Error("nothing was resumed")
		}
	})(t)
}

// journalHolds demands that what the journal claims is there and right.
func journalHolds(t testing.TB, job *Job, b testbody.Body) {
	t.Helper()
	f, err := store.Open(job.Target, job.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	_, done, _ := f.Resume()
	for _, d := range done {
		p := make([]byte, d.Len())
		if _, err := f.ReadAt(p, d.Off); err != nil {
			t.Fatalf("%v: %v", d, err)
		}
		if string(p) != string(bytesOf(b, d.Off, d.End)) {
			t.Fatalf("the journal claims %v, but those bytes are others", d)
		}
	}
	if n := f.Notice(); n != "" {
		t.Fatalf("notice %q", n)
	}
}

func TestInterruptedWhileNothingMoves(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"connecting", "waiting for a retry", "whole", "held back"} {
		t.Run(kind, timeless(func(t *bubble) {
			o := newObject(40 * mib)
			r := newRig(t)
			job := r.job(at(t, serve(t, o), "", "/f"))
			switch kind {
			case "connecting":
				r.nets[0].hole.Store(true)
				r.nets[1].hole.Store(true)
			case "waiting for a retry":
				o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
					w.Header().Set("Retry-After", "100")
					w.WriteHeader(http.StatusServiceUnavailable)
					return true
				}
			case "whole":
				o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
					w.Header().Set("Content-Length", "1000")
					w.(http.Flusher).Flush()
					time.Sleep(time.Second)
					return true
				}
			case "held back":
				c := newConsumer()
				c.block = make(chan struct{})
				t.Cleanup(func() { close(c.block) })
				job.Stdout = c
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			time.AfterFunc(500*time.Millisecond, func() { cancel(ErrInterrupted) })
			start := time.Now()
			got := r.do(ctx, job)
			if !errors.Is(got.err, ErrInterrupted) {
				t.Errorf("error %v", got.err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			if n := len(of[event.Step](got)); kind != "held back" && n > 100 {
				t.Errorf("%d steps while nothing happened", n)
			}
		}))
	}
}

// TestInterruptedWhileVerifying fetches nothing again but the byte whose response shows that the
// object is still the same.
func TestInterruptedWhileVerifying(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(3 * mib)
		r := newRig(t)
		job := r.job(at(t, serve(t, o), "", "/f"))
		sum, err := ParseChecksum("sha256=" + o.body.SHA256())
		if err != nil {
			t.Fatal(err)
		}
		job.Checksum = sum
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		e := r.engine()
		f, err := store.Open(job.Target, job.URL)
		if err != nil {
			t.Fatal(err)
		}
		object, err := e.fill(ctx, job, fileSink{f})
		if err != nil {
			t.Fatal(err)
		}
		cancel(ErrInterrupted)
		if _, err := e.finish(ctx, job, fileSink{f}, object); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("error %v", err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		e.Close()
		before := o.sent.Load()
		r.drain()
		r.get(job.URL).right(o.body)
		if o.sent.Load() != before+1 {
			t.Errorf("%d bytes were fetched again", o.sent.Load()-before)
		}
	})(t)
}

func TestSeveralDownloadsOnOneEngine(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t, &testLink{name: "a", rate: 16 * mib}, &testLink{name: "b", rate: 16 * mib})
		e := r.engine()
		defer e.Close()
		for i, size := range []int64{3 * mib, 10, 4 * mib, 0, 2 * mib} {
			o := newObject(size)
			job := r.job(at(t, serve(t, o), "", fmt.Sprint("/f", i)))
			job.Target.Name = fmt.Sprint("f", i)
			got := &outcome{t: t}
			got.res, got.err = e.Download(context.Background(), job)
			got.events = r.drain()
			got.check()
			got.right(o.body)
		}
		// The same origin again: the connections are still there.
		r.cfg.NoSteal = true // it costs connections
		calm, err := New(r.cfg, r.links)
		if err != nil {
			t.Fatal(err)
		}
		defer calm.Close()
		o := newObject(2 * mib)
		s := serve(t, o)
		for i := range 4 {
			job := r.job(at(t, s, "", "/again"))
			job.Target.Name = fmt.Sprint("again", i)
			if _, err := calm.Download(context.Background(), job); err != nil {
				t.Fatal(err)
			}
		}
		opened := 0
		for _, ev := range r.drain() {
			if c, ok := ev.(event.ConnOpened); ok && c.Remote == s.Listener.Addr().String() {
				opened++
			}
		}
		if opened != 2 {
			t.Errorf("%d connections for four downloads over two links", opened)
		}
	})(t)
}

func TestSeveralEnginesShareLinks(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		o := newObject(3 * mib)
		s := serve(t, o)
		first := r.engine()
		first.Close()
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				e, err := New(r.cfg, r.links)
				if err != nil {
					t.Error(err)
					return
				}
				defer e.Close()
				job := r.job(at(t, s, "", "/f"))
				job.ID, job.Target.Name = event.FileID(i), fmt.Sprint("f", i)
				res, err := e.Download(context.Background(), job)
				if err != nil || hashOf(t, res.Output) != o.body.SHA256() {
					t.Errorf("download %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if n := r.links[0].Totals().Connections + r.links[1].Totals().Connections; n < 4 {
			t.Errorf("%d connections for four downloads", n)
		}
	})(t)
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		links []int64 // bytes per second
		all   int64
		size  int64
		want  float64 // seconds
	}{
		{"one link", []int64{100_000, 0}, 0, 256 << 10, 0}, // as much as is asked for at first
		{"both links", []int64{60_000, 120_000}, 0, 360_000, 2},
		{"all together", []int64{0, 0}, 100_000, 200_000, 2},
		{"very low", []int64{0, 0}, 20_000, 40_000, 2},
	} {
		t.Run(tc.name, timeless(func(t *bubble) {
			size := tc.size
			if size == 0 {
				size = 2 * mib
			}
			o := newObject(size)
			r := newRig(t)
			for i, rate := range tc.links {
				r.terms[i].Rate = rate
			}
			r.cfg.StallTimeout = 3 * time.Second
			r.cfg.LimitRate = NewLimiter(tc.all, 0)
			if tc.want == 0 {
				r.nets[1].rate = mib
			}
			start := time.Now()
			got := r.get(at(t, serve(t, o), "", "/f"))
			took := time.Since(start).Seconds()
			got.right(o.body)
			got.nobodyBlamed()
			if n := len(of[event.RequestStarted](got)); n > 12 {
				t.Errorf("%d requests", n)
			}
			if tc.want > 0 && (took < 0.9*tc.want || took > 1.4*tc.want) {
				t.Errorf("%d bytes in %.2f s, want about %.2f", size, took, tc.want)
			}
			if n := got.carried(2); tc.want == 0 && float64(n[0]) > 130_000*took+20_000 {
				t.Errorf("the limited link carried %d bytes in %.2f s", n[0], took)
			}
		}))
	}
}

// brokenSink fails where a test wants it to.
type brokenSink struct {
	sink
	write   int64 // bytes at this offset or beyond do not fit
	syncErr error
}

func (b brokenSink) WriteAt(p []byte, off int64) (int, error) {
	if b.write > 0 && off+int64(len(p)) > b.write {
		return 0, &store.Error{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return b.sink.WriteAt(p, off)
}

type brokenCheckpoint struct{ brokenSink }

func (b brokenCheckpoint) Checkpoint([]scheduler.Range) error { return b.syncErr }

func TestTheDiskFails(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"write", "checkpoint"} {
		t.Run(kind, timeless(func(t *bubble) {
			o := newObject(8 * mib)
			r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib})
			u := at(t, serve(t, o), "", "/f")
			e := r.engine()
			f, err := store.Open(r.job(u).Target, u)
			if err != nil {
				t.Fatal(err)
			}
			broken := brokenSink{sink: fileSink{f}, syncErr: &store.Error{Op: "sync", Path: "x", Err: syscall.EIO}}
			var to sink = brokenCheckpoint{broken}
			want := error(syscall.EIO)
			if kind == "write" {
				broken.write, want = 5*mib, syscall.ENOSPC
				to = broken
			}
			got := &outcome{t: t}
			_, got.err = e.fill(context.Background(), r.job(u), to)
			e.Close()
			got.events = r.drain()
			got.check()
			var se *store.Error
			if !errors.As(got.err, &se) || !errors.Is(got.err, want) {
				t.Fatalf("error %v", got.err)
			}
			storage := 0
			for _, ev := range of[event.RequestEnded](got) {
				if ev.Outcome == event.OutcomeStorage {
					storage++
				}
			}
			if kind == "write" && storage == 0 {
				t.Error("no request ended because of the disk")
			}
			if err := to.Close(); err != nil {
				t.Fatal(err)
			}
			journalHolds(t, r.job(u), o.body)
			again := r.get(u)
			again.right(o.body)
			if ofKnown(t, again).Resumed == 0 {
				t.Error("nothing was kept")
			}
		}))
	}
}

func TestNothingIsFetchedWhereNothingCanBeWritten(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(mib)
		r := newRig(t)
		job := r.job(at(t, serve(t, o), "", "/f"))
		job.Target.Name = filepath.Join("none", "such")
		got := r.do(context.Background(), job)
		var se *store.Error
		if !errors.As(got.err, &se) || !errors.Is(got.err, os.ErrNotExist) {
			t.Errorf("error %v", got.err)
		}
		if o.requests.Load() != 0 {
			t.Error("the server was asked")
		}
	})(t)
}

func TestSamples(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(4 * mib)
		r := newRig(t, &testLink{name: "a", rate: 2 * mib}, &testLink{name: "b", rate: 2 * mib})
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		samples := of[event.Sample](got)
		if len(samples) < 4 {
			t.Fatalf("%d samples", len(samples))
		}
		for i, s := range samples[1:] {
			before := samples[i]
			if &s.Links[0] == &before.Links[0] {
				t.Fatal("two samples share their links")
			}
			if s.Done < before.Done || s.At < before.At {
				t.Errorf("from %d at %d to %d at %d", before.Done, before.At, s.Done, s.At)
			}
			for l := range s.Links {
				if s.Links[l].Bytes < before.Links[l].Bytes {
					t.Errorf("link %d fell from %d to %d bytes", l, before.Links[l].Bytes, s.Links[l].Bytes)
				}
			}
		}
		if last := samples[len(samples)-1]; last.Done != o.body.Size || last.Size != o.body.Size {
			t.Errorf("the last sample says %d of %d", last.Done, last.Size)
		}
	})(t)
}

// TestLastByteIsOfAKeptOne takes most of a slow link's range away from it.
func TestLastByteIsOfAKeptOne(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(8 * mib)
		r := newRig(t, &testLink{name: "a", rate: mib / 2}, &testLink{name: "b", rate: 16 * mib})
		r.cfg.Algorithm = "1"
		r.cfg.StaticLimit = 8 * mib
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		var last scheduler.Time
		for _, e := range of[event.RequestEnded](got) {
			if e.Bytes > e.Wasted {
				last = max(last, e.LastByte)
			}
		}
		for _, e := range of[event.Step](got) {
			for _, a := range e.Actions {
				if a.Kind == scheduler.Complete && last > e.At {
					t.Errorf("complete at %d, but the last kept byte came at %d", e.At, last)
				}
			}
		}
	})(t)
}

func TestRefusedLater(t *testing.T) {
	timeless(func(t *bubble) {
		for err, want := range map[*fetch.Error][2]bool{
			{Class: fetch.Refused}:  {true, false},
			{Class: fetch.Network}:  {false, false},
			{Class: fetch.Busy}:     {false, false},
			{Class: fetch.DNS}:      {true, false},
			{Class: fetch.TLS}:      {true, true},
			{Class: fetch.Protocol}: {true, true},
		} {
			if got := [2]bool{permanent(err, false), permanent(err, true)}; got != want {
				t.Errorf("%v: permanent %v, want %v", err.Class, got, want)
			}
		}
	})(t)
}
