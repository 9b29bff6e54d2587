package scheduler

import (
	"testing"

	"github.com/mlget/mlget/internal/race"
)

// smallFiles is a world of files of 1 KiB over two links: each step, the oldest
// request of one of them is finished.
type smallFiles struct {
	c     *Core
	now   Time
	next  int64 // files that were Added
	files int64
	steps int
	turn  int // whose request is next
	queue [2][]ChunkID
	out   []Action
	done  bool
}

func newSmallFiles(t testing.TB, files int64, plan *Plan) *smallFiles {
	p, err := NewPolicy("3", 0, AutoPadding)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Links: 2, Policy: p, Batch: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &smallFiles{c: c, files: files, out: make([]Action, 0, 4096)}
	for id := range LinkID(2) {
		w.step(Input{Kind: LinkUp, Link: id, RTT: 50 * Millisecond})
		if plan != nil {
			w.step(Input{Kind: Planned, Link: id, Plan: plan})
		}
	}
	w.supply()
	w.step(Input{Kind: Tick})
	return w
}

func (w *smallFiles) step(in Input) {
	w.steps++
	w.out = w.c.Step(w.now, in, w.out[:0])
	for _, a := range w.out {
		switch a.Kind {
		case Start:
			w.queue[a.Link] = append(w.queue[a.Link], a.Chunk)
		case Complete:
			w.done = true
		default: // requests are withdrawn at the end only, where Finished ignores them
		}
	}
}

// supply keeps 16 MiB ahead.
func (w *smallFiles) supply() {
	const size = 1 << 10
	if w.next == w.files || w.c.Free() > 16<<20 {
		return
	}
	for range min(1024, w.files-w.next) {
		w.step(Input{Kind: Added, Piece: Piece{Range: Range{w.next * size, (w.next + 1) * size}, File: int32(w.next)}})
		w.next++
	}
	w.step(Input{Kind: Expected, Bytes: (w.files - w.next) * size})
}

// finish lets 10 MB/s arrive over each link.
func (w *smallFiles) finish() {
	w.now += 50 * Microsecond
	l := w.turn
	if len(w.queue[l]) == 0 {
		l = 1 - l
	}
	if len(w.queue[l]) == 0 {
		w.now += 25 * Millisecond
		w.step(Input{Kind: Tick})
		return
	}
	id := w.queue[l][0]
	w.queue[l] = w.queue[l][:copy(w.queue[l], w.queue[l][1:])]
	w.step(Input{Kind: Finished, Link: LinkID(l), Chunk: id, Bytes: 1 << 10})
	w.step(Input{Kind: Tick})
	w.turn = 1 - w.turn
	w.supply()
}

func TestABatchOfSmallFilesIsBoundedInMemory(t *testing.T) {
	files := int64(100_000)
	if race.Enabled {
		files = 30_000
	}
	w := newSmallFiles(t, files, nil)
	for range 400_000 {
		if w.done {
			break
		}
		w.finish()
	}
	s := &w.c.freeMap
	if !w.done || len(s.files) > 5000 || cap(s.fresh[0].parts) > 1<<17 {
		t.Errorf("done %v, places for %d files, %d parts", w.done, len(s.files), cap(s.fresh[0].parts))
	}
}

func TestABatchStepAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("allocations are counted without the race detector")
	}
	for _, plan := range []*Plan{nil, {Files: 8}} {
		w := newSmallFiles(t, 1<<30, plan)
		for range 50_000 {
			w.finish()
		}
		if n := testing.AllocsPerRun(20_000, w.finish); n != 0 {
			t.Errorf("%v allocations in a step; plan %+v", n, plan)
		}
	}
}

func BenchmarkBatchStep(b *testing.B) {
	w := newSmallFiles(b, 1<<40, nil)
	for range 20_000 {
		w.finish()
	}
	w.steps = 0
	b.ReportAllocs()
	for b.Loop() {
		w.finish()
	}
	b.ReportMetric(float64(len(w.c.flight.chunks)), "requests")
	b.ReportMetric(float64(w.c.links[0].streams.most), "streams")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(w.steps), "ns/input")
}
