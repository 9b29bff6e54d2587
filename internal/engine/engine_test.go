package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestMain lets many tests run at once, unless it is told how many: those that are
// not in a bubble wait more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		if err := flag.Set("test.parallel", "40"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// rig is what a test downloads with.
type rig struct {
	t      testing.TB
	nets   []*testLink
	terms  []Terms
	spares int // links that may join
	cfg    Config
	dir    string
	bus    *event.Bus
	seen   chan []event.Event // what came up to a RunEnded
	links  []*Link

	// Of batches.
	rerun bool               // the files may be there from before
	goOn  bool               // what another tool left is gone on with
	sum   func(i int) string // the i-th file's checksum
}

func newRig(t testing.TB, nets ...*testLink) *rig {
	t.Helper()
	if len(nets) == 0 {
		nets = []*testLink{{name: "a"}, {name: "b"}}
	}
	r := &rig{t: t, nets: nets, terms: make([]Terms, len(nets)), dir: t.TempDir(), bus: new(event.Bus)}
	r.cfg = Config{
		Bus: r.bus, Started: time.Now(), Algorithm: "3", StaticLimit: 4 * mib, Padding: 0.3,
		Tries: 4, StallTimeout: 10 * time.Second, Record: true, Parallelism: 1, // a busy machine is not far away
	}
	if netOf(t) != nil {
		time.Sleep(time.Millisecond) // nothing is sent at 0 of its clock
	}
	r.seen = make(chan []event.Event)
	go watch(r.bus.Subscribe(), r.seen)
	t.Cleanup(func() {
		r.bus.Close()
		for range r.seen { //nolint:revive // until it ends
		}
	})
	return r
}

// engine makes the Engine; it is closed with the test.
func (r *rig) engine() *Engine {
	r.t.Helper()
	for _, l := range r.nets {
		l.inside(netOf(r.t))
	}
	if r.links == nil {
		nets := make([]Network, len(r.nets))
		for i, n := range r.nets {
			nets[i] = n
		}
		block := r.cfg.BlockSize
		if block == 0 {
			block = DefaultBlockSize
		}
		r.links = NewLinks(r.bus, r.cfg.Started, nets, r.terms, r.spares, block)
	}
	e, err := New(r.cfg, r.links)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// outcome is what came of a download.
type outcome struct {
	t      testing.TB
	res    Result
	err    error
	events []event.Event
}

func (r *rig) job(u *url.URL) *Job {
	return &Job{URL: u, Target: store.Target{Dir: r.dir, Name: "out", Explicit: true}}
}

// get downloads u into the rig's directory.
func (r *rig) get(u *url.URL) *outcome { return r.do(context.Background(), r.job(u)) }

// do runs one job on an Engine of its own and looks at what is always to hold.
func (r *rig) do(ctx context.Context, job *Job) *outcome {
	r.t.Helper()
	limit := 50 * time.Second
	if netOf(r.t) == nil {
		limit = 150 * time.Second // of real time, in which a busy machine may do little
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("the test took too long"))
	defer cancel()
	e := r.engine()
	o := &outcome{t: r.t}
	o.res, o.err = e.Download(ctx, job)
	e.Close()
	o.events = r.drain()
	o.check()
	for _, n := range r.nets {
		if n.open() != 0 {
			r.t.Errorf("link %s has %d connections after the end", n.name, n.open())
		}
	}
	return o
}

// watch keeps events and hands them on with each RunEnded.
func watch(sub *event.Subscription, seen chan<- []event.Event) {
	defer close(seen)
	var all []event.Event
	for buf, ok := sub.Next(nil); ok; buf, ok = sub.Next(buf) {
		for _, e := range buf {
			if _, end := e.(event.RunEnded); end {
				seen <- all
				all = nil
				continue
			}
			all = append(all, e)
		}
	}
}

// drain gives the events since last time.
func (r *rig) drain() []event.Event {
	r.bus.Publish(event.RunEnded{})
	return <-r.seen
}

// received is how many bytes all links have received.
func (r *rig) received() (n int64) {
	for _, l := range r.nets {
		n += l.bytes.Load()
	}
	return n
}

// await waits until the links have received more than so many bytes.
func (r *rig) await(ctx context.Context, most int64) bool {
	for r.received() <= most {
		if ctx.Err() != nil {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// of picks the events of one type.
func of[E event.Event](o *outcome) (list []E) {
	for _, e := range o.events {
		if e, ok := e.(E); ok {
			list = append(list, e)
		}
	}
	return list
}

// check looks at what holds for every download, however it ended.
func (o *outcome) check() {
	o.t.Helper()
	open := map[scheduler.ChunkID]event.RequestStarted{}
	var useful, wasted int64
	for _, e := range o.events {
		switch e := e.(type) {
		case event.RequestStarted:
			if _, twice := open[e.Chunk]; twice {
				o.t.Errorf("request %d started twice", e.Chunk)
			}
			open[e.Chunk] = e
		case event.RequestEnded:
			s, ok := open[e.Chunk]
			if !ok || s.Link != e.Link {
				o.t.Errorf("request %d of link %d ended without having started", e.Chunk, e.Link)
			}
			delete(open, e.Chunk)
			useful += e.Bytes - e.Wasted
			wasted += e.Wasted
			switch {
			case e.Wasted < 0 || e.Wasted > e.Bytes:
				o.t.Errorf("request %d: %d of %d bytes wasted", e.Chunk, e.Wasted, e.Bytes)
			case e.Sent <= 0 || e.Sent > e.At:
				o.t.Errorf("request %d: sent at %d, ended at %d", e.Chunk, e.Sent, e.At)
			case (e.FirstByte > 0 || e.Bytes > e.Wasted) && (e.FirstByte < e.Sent || e.LastByte > e.At):
				o.t.Errorf("request %d: bytes from %d to %d, sent at %d, ended at %d", e.Chunk, e.FirstByte, e.LastByte, e.Sent, e.At)
			case e.Bytes > e.Wasted && e.LastByte < e.FirstByte:
				o.t.Errorf("request %d: first byte at %d, last kept byte at %d", e.Chunk, e.FirstByte, e.LastByte)
			case (e.Outcome == event.OutcomeDone || e.Outcome == event.OutcomeCancelled) != (e.Error == ""):
				o.t.Errorf("request %d: outcome %s, error %q", e.Chunk, e.Outcome, e.Error)
			}
		}
	}
	for _, e := range of[event.BytesDiscarded](o) {
		useful, wasted = useful-e.Bytes, wasted+e.Bytes
	}
	if len(open) > 0 {
		o.t.Errorf("%d requests have not ended", len(open))
	}
	var resumed int64
	for _, e := range of[event.ObjectKnown](o) {
		resumed = e.Resumed
	}
	if o.err == nil && useful != o.res.Size-resumed {
		o.t.Errorf("%d useful bytes (%d wasted) of %d, %d of them resumed", useful, wasted, o.res.Size, resumed)
	}
	for _, s := range of[event.Sample](o) {
		if s.Done < 0 || s.Size >= 0 && s.Done > s.Size {
			o.t.Errorf("a sample says %d of %d bytes", s.Done, s.Size)
			break
		}
	}
	o.replay()
}

// replay gives the recorded steps to new schedulers.
func (o *outcome) replay() {
	o.t.Helper()
	var cfg *scheduler.Config
	var steps []scheduler.Recorded
	run := func() {
		if cfg == nil {
			return
		}
		if err := scheduler.Replay(*cfg, steps); err != nil {
			o.t.Errorf("replay: %v", err)
		}
	}
	for _, e := range o.events {
		switch e := e.(type) {
		case event.SchedulerStarted:
			run()
			p, err := scheduler.NewPolicy(e.Algorithm, e.StaticLimit, e.Padding)
			if err != nil {
				o.t.Fatal(err)
			}
			cfg = &scheduler.Config{
				Links: e.Links, Policy: p, Size: e.Size, Have: e.Have, Overlap: e.Overlap,
				Parallelism: e.Parallelism, Energy: e.Energy, Offload: e.Offload, Deadline: e.Deadline, Window: e.Window, NoSteal: e.NoSteal, NoFailover: e.NoFailover, Batch: e.Batch, TLS: e.TLS, Limited: e.Limited,
			}
			steps = steps[:0]
		case event.Step:
			steps = append(steps, scheduler.Recorded{At: e.At, Input: e.Input, Actions: e.Actions})
		}
	}
	run()
}

// right demands that the file is b.
func (o *outcome) right(b testbody.Body) {
	o.t.Helper()
	if o.err != nil {
		o.t.Fatalf("download: %v", o.err)
	}
	if o.res.Size != b.Size {
		o.t.Errorf("size %d, want %d", o.res.Size, b.Size)
	}
	if got := hashOf(o.t, o.res.Output); got != b.SHA256() {
		o.t.Fatalf("%s: wrong hash", o.res.Output)
	}
	for _, suffix := range []string{".part", ".part.json"} {
		if _, err := os.Stat(o.res.Output + suffix); err == nil {
			o.t.Errorf("%s is still there", filepath.Base(o.res.Output)+suffix)
		}
	}
}

// carried is how many bytes each link brought that were kept.
func (o *outcome) carried(links int) []int64 {
	n := make([]int64, links)
	for _, e := range of[event.RequestEnded](o) {
		n[e.Link] += e.Bytes - e.Wasted
	}
	for _, e := range of[event.BytesDiscarded](o) {
		n[e.Link] -= e.Bytes
	}
	return n
}

func hashOf(t testing.TB, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ofKnown is the last ObjectKnown, which there must be.
func ofKnown(t testing.TB, o *outcome) event.ObjectKnown {
	t.Helper()
	list := of[event.ObjectKnown](o)
	if len(list) == 0 {
		t.Fatal("nothing says what the object is")
	}
	return list[len(list)-1]
}

// noticed says whether a notice holds text.
func (o *outcome) noticed(text string) bool {
	for _, n := range of[event.Notice](o) {
		if strings.Contains(n.Text, text) {
			return true
		}
	}
	return false
}

// doneOf makes ranges of pairs of offsets.
func doneOf(ends ...int64) (done []scheduler.Range) {
	for i := 0; i+1 < len(ends); i += 2 {
		done = append(done, scheduler.Range{Off: ends[i], End: ends[i+1]})
	}
	return done
}
