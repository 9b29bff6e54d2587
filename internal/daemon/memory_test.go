package daemon

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
)

// TestWaitingJobIsSmall: ten thousand jobs that wait, with a name and a URL of usual length, take
// less than 1 KB of memory each, what the collector leaves over included.
func TestWaitingJobIsSmall(t *testing.T) {
	const jobs, most = 10_000, 500 // bytes: the collector lets the heap grow to twice that
	q := NewQueue(1000)
	session, global, err := OpenSession(filepath.Join(t.TempDir(), "session"), q)
	if err != nil {
		t.Fatal(err)
	}
	m := New(t.Context(), q, session, global, slow{})
	m.closed = true // no job begins
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	before := live()
	for i := range jobs {
		o := Options{"out": fmt.Sprintf("name-%05d.bin", i), "dir": fmt.Sprintf("folder-%03d", i%100)}
		if _, err := m.Add(0, []string{fmt.Sprintf("https://download.example.org/some/folder/a-file-of-some-name-%05d.bin", i)}, o, -1); err != nil {
			t.Fatal(err)
		}
	}
	if each := (live() - before) / jobs; each > most {
		t.Errorf("a job takes %d bytes, and %d are the limit", each, most)
	} else {
		t.Logf("a job takes %d bytes", each)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}
