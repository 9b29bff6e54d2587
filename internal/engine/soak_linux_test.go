package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/internal/store"
)

// counted counts the files of a batch that were right.
type counted struct{ done, failed atomic.Int64 }

func (c *counted) Ended(_ *Job, _ Result, err error) {
	if err != nil {
		c.failed.Add(1)
		return
	}
	c.done.Add(1)
}

// holding is what a process has of what may leak.
type holding struct{ heap, goroutines, descriptors int }

func holdings(t *testing.T) (h holding) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // what is about to end
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return holding{int(m.HeapAlloc), runtime.NumGoroutine(), len(fds)}
}

// TestSoakJobs: jobs of 10,000 files, one after the other in one process over the same
// links, and after each there is no more than after the first ones.
func TestSoakJobs(t *testing.T) {
	limit := soaktest.Time(t)
	const files, size = 10_000, 3000
	server := serve(t, &shop{})
	bus := new(event.Bus)
	t.Cleanup(bus.Close)
	nets := []Network{&testLink{name: "a", bare: true}, &testLink{name: "b", bare: true}}
	cfg := Config{
		Bus: bus, Started: time.Now(), Algorithm: "3", StaticLimit: 4 * mib, Padding: 0.3,
		Tries: 4, StallTimeout: 30 * time.Second, Parallelism: 0,
	}
	links := NewLinks(bus, cfg.Started, nets, make([]Terms, len(nets)), 0, DefaultBlockSize)
	// In memory, if there is some: it is not the disk that is looked at.
	base, err := os.MkdirTemp("/dev/shm", "mlget-soak-")
	if err != nil {
		base = t.TempDir()
	}
	defer os.RemoveAll(base) //nolint:errcheck // it is below a temporary directory
	var after []holding
	for begun := time.Now(); time.Since(begun) < limit || len(after) < 4; {
		dir := filepath.Join(base, "round")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		c := new(counted)
		jobs, ahead := make(chan *Job), new(atomic.Int64)
		go func() {
			defer close(jobs)
			for i := range files {
				jobs <- &Job{ID: event.FileID(i), URL: at(t, server, "", fmt.Sprintf("/%d/%d", i+1, size)), Target: store.Target{Dir: dir, Name: fmt.Sprint("f", i)}}
			}
		}()
		e, err := New(cfg, links)
		if err == nil {
			err = errors.Join(e.DownloadAll(t.Context(), &Batch{Jobs: jobs, Ahead: ahead, Ended: c}))
			e.Close()
		}
		if err != nil || c.done.Load() != files {
			t.Fatalf("round %d: %d of %d files: %v", len(after), c.done.Load(), files, err)
		}
		server.CloseClientConnections()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		after = append(after, holdings(t))
	}
	first, last := after[1], after[len(after)-1] // the first round makes what is kept
	rounds := len(after) - 2
	t.Logf("%d jobs of %d files: %+v after the second, %+v after the last: %+.0f bytes of heap a job", len(after), files, first, last,
		float64(last.heap-first.heap)/float64(rounds))
	fifth := max(1, len(after)/5)
	least := func(some []holding) (n int) {
		n = some[0].heap
		for _, h := range some {
			n = min(n, h.heap)
		}
		return n
	}
	t.Logf("the least heap of the first fifth of them %d, of the last %d", least(after[1:1+fifth]), least(after[len(after)-fifth:]))
	if last.heap > first.heap+2<<20 || last.goroutines > first.goroutines+8 || last.descriptors > first.descriptors+8 {
		t.Error("it grows")
	}
}
