package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// shop serves objects by their paths, /SEED/SIZE, and says otherwise where a test
// wants that.
type shop struct {
	gate     func(w http.ResponseWriter, r *http.Request, o *object) bool // true: it has answered
	requests atomic.Int64

	mu    sync.Mutex
	asked map[string]int // requests by path
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[r.URL.Path]++
	n := s.asked[r.URL.Path]
	s.mu.Unlock()
	o := objectAt(r.URL.Path)
	if o == nil {
		http.NotFound(w, r)
		return
	}
	o.requests.Store(int64(n)) // this one is the nth
	if s.gate != nil && s.gate(w, r, o) {
		return
	}
	w.Header().Set("Etag", o.etag)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", o.modified, o.body.Reader())
}

// times is how often a path was asked for.
func (s *shop) times(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// objectAt is the one that a shop has at a path; nil: none.
func objectAt(path string) *object {
	var seed uint64
	var size int64
	if n, _ := fmt.Sscanf(path, "/%d/%d", &seed, &size); n != 2 {
		return nil
	}
	return &object{body: testbody.Body{Size: size, Seed: seed}, etag: fmt.Sprintf(`"%d"`, seed), modified: time.Unix(1_000_000_000, 0)}
}

// ware is one job of a batch in a test.
type ware struct {
	base  *httptest.Server
	host  string // a name instead of the server's address
	path  string // "": /INDEX/SIZE
	size  int64
	known bool // an index has told the size
}

// haul is what came of a batch.
type haul struct {
	*rig
	outcome
	jobs  []*Job
	wares []ware

	mu   sync.Mutex
	errs map[event.FileID]error
	out  map[event.FileID]string
}

func (h *haul) Ended(job *Job, res Result, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, twice := h.errs[job.ID]; twice {
		h.rig.t.Errorf("file %d has ended twice", job.ID)
	}
	h.errs[job.ID] = err
	h.out[job.ID] = res.Output
	code := 0
	text := ""
	if err != nil {
		code, text = 1, err.Error()
	}
	h.bus.Publish(event.FileEnded{At: scheduler.Time(time.Since(h.cfg.Started)), File: job.ID, Output: res.Output, Size: res.Size, ExitCode: code, Error: text})
}

// haul downloads wares as a batch, and looks at what is always to hold.
func (r *rig) haul(ctx context.Context, spec Batch, wares ...ware) *haul {
	r.t.Helper()
	ctx, cancel := context.WithTimeoutCause(ctx, 150*time.Second, errors.New("the test took too long"))
	defer cancel()
	h := &haul{rig: r, wares: wares, errs: map[event.FileID]error{}, out: map[event.FileID]string{}}
	h.outcome.t = r.t
	jobs := make(chan *Job)
	ahead := new(atomic.Int64)
	ahead.Store(int64(len(wares)))
	for i, w := range wares {
		path := w.path
		if path == "" {
			path = fmt.Sprintf("/%d/%d", i+1, w.size)
			wares[i].path = path
		}
		job := &Job{ID: event.FileID(i), URL: at(r.t, w.base, w.host, path), Target: store.Target{Dir: r.dir, Name: fmt.Sprint("f", i)}}
		if w.known {
			job.Size = w.size
		}
		job.Target.Rerun, job.Target.Continue = r.rerun, r.goOn
		if r.sum != nil {
			sum, err := ParseChecksum(r.sum(i))
			if err != nil {
				r.t.Fatal(err)
			}
			job.Checksum = sum
		}
		h.jobs = append(h.jobs, job)
	}
	go func() {
		defer close(jobs)
		for _, job := range h.jobs {
			ahead.Add(-1)
			select {
			case jobs <- job:
			case <-ctx.Done():
				return
			}
		}
	}()
	spec.Jobs, spec.Ahead, spec.Ended = jobs, ahead, h
	e := r.engine()
	h.err = e.DownloadAll(ctx, &spec)
	e.Close()
	h.events = r.drain()
	h.check()
	for _, n := range r.nets {
		if n.open() != 0 {
			r.t.Errorf("link %s has %d connections after the end", n.name, n.open())
		}
	}
	return h
}

// check looks at what holds for every batch, however it ended.
func (h *haul) check() {
	t := h.rig.t
	t.Helper()
	type request struct {
		file  event.FileID
		link  scheduler.LinkID
		chunk scheduler.ChunkID
	}
	open := map[request]bool{}
	began, over := map[event.FileID]int{}, map[event.FileID]int{}
	for _, e := range h.events {
		switch e := e.(type) {
		case event.FileStarted:
			began[e.File]++
		case event.FileEnded:
			over[e.File]++
		case event.RequestStarted:
			if began[e.File] == 0 {
				t.Errorf("a request for file %d, which has not begun", e.File)
			}
			open[request{e.File, e.Link, e.Chunk}] = true
		case event.RequestEnded:
			if !open[request{e.File, e.Link, e.Chunk}] {
				t.Errorf("request %d of file %d has ended, but not begun", e.Chunk, e.File)
			}
			delete(open, request{e.File, e.Link, e.Chunk})
			if e.Wasted < 0 || e.Wasted > e.Bytes {
				t.Errorf("request %d: %d of %d bytes wasted", e.Chunk, e.Wasted, e.Bytes)
			}
		case event.Sample:
			if e.File == event.Batch && (e.Done < 0 || e.Done > e.Size) {
				t.Errorf("a sample says %d of %d bytes", e.Done, e.Size)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("%d requests have not ended", len(open))
	}
	for id := range h.errs {
		if began[id] != 1 || over[id] != 1 {
			t.Errorf("file %d has begun %d times and ended %d times", id, began[id], over[id])
		}
	}
	byFile := map[event.FileID][]event.Event{}
	for _, e := range h.events {
		switch e := e.(type) {
		case event.SchedulerStarted:
			byFile[e.File] = append(byFile[e.File], e)
		case event.Step:
			byFile[e.File] = append(byFile[e.File], e)
		}
	}
	for _, events := range byFile {
		(&outcome{t: t, events: events}).replay()
	}
}

// right demands that every file has come, whole and under its name, and nothing
// else.
func (h *haul) right() {
	h.rig.t.Helper()
	if h.err != nil {
		h.rig.t.Fatalf("batch: %v", h.err)
	}
	for i := range h.wares {
		h.has(i)
	}
	h.tidy()
}

// has demands that one file has come.
func (h *haul) has(i int) {
	t, id := h.rig.t, event.FileID(i)
	t.Helper()
	if err, ended := h.errs[id]; !ended || err != nil {
		t.Errorf("file %d: ended %v, %v", i, ended, err)
		return
	}
	o := objectAt(h.wares[i].path)
	if got := hashOf(t, h.out[id]); got != o.body.SHA256() {
		t.Errorf("file %d (%s): wrong hash", i, h.wares[i].path)
	}
}

// tidy demands that nothing unfinished has been left.
func (h *haul) tidy() {
	h.rig.t.Helper()
	there, err := os.ReadDir(h.dir)
	if err != nil {
		h.rig.t.Fatal(err)
	}
	for _, e := range there {
		if strings.Contains(e.Name(), ".part") {
			h.rig.t.Errorf("%s has been left", filepath.Base(e.Name()))
		}
	}
}

// mixed are wares of many sizes.
func mixed(s *httptest.Server, n int, known bool) []ware {
	sizes := []int64{1, 100, 4 << 10, 20 << 10, 40 << 10, 130 << 10, 70 << 10, 17}
	list := make([]ware, n)
	for i := range list {
		list[i] = ware{base: s, size: sizes[i%len(sizes)] + int64(i), known: known}
	}
	return list
}

// Tests that compute more than they wait run by themselves.

func TestBatch(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprint("known ", known), func(t *testing.T) {
			r := newRig(t)
			s := &shop{}
			files := 1000
			if known {
				files = 200
			}
			h := r.haul(t.Context(), Batch{Mode: tuning.HAT}, mixed(serve(t, s), files, known)...)
			h.right()
			if n := s.requests.Load(); n > int64(5*files) { // on a busy machine links seem slow, and requests are moved
				t.Errorf("%d requests for %d files", n, files)
			}
		})
	}
}

func TestBatchOfLargeAndSmall(t *testing.T) {
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprint("known ", known), func(t *testing.T) {
			r := newRig(t)
			s := serve(t, &shop{})
			var wares []ware
			for i := range 60 {
				wares = append(wares, ware{base: s, size: 1000 * int64(i), known: known})
				if i%15 == 0 {
					wares = append(wares, ware{base: s, size: 3*mib + int64(i), known: known})
				}
			}
			wares = append(wares, ware{base: s, size: 12 * mib, known: known}, ware{base: s, size: mib, known: known})
			r.haul(t.Context(), Batch{}, wares...).right()
		})
	}
}
