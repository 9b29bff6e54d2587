package store

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestLessThan(t *testing.T) {
	for _, c := range []struct {
		needed, free int64
		missing      int64 // 0: there is enough
	}{
		{0, 0, 0},
		{-5, 0, 0}, // more is on disk than the object takes
		{100, 100, 0},
		{101, 100, 1},
		{math.MaxInt64, 0, math.MaxInt64},
		{100, -50, 100}, // others are still to take what is free
		{0, -50, 0},
	} {
		err := lessThan(c.needed, c.free)
		var room *NoRoom
		switch {
		case c.missing == 0:
			if err != nil {
				t.Errorf("%d of %d: %v", c.needed, c.free, err)
			}
		case !errors.As(err, &room) || room.Needed-room.Free != c.missing || !errors.Is(err, syscall.ENOSPC):
			t.Errorf("%d of %d: %v", c.needed, c.free, err)
		}
	}
	const want = "11.5 MiB more must be free: it takes 19.5 MiB, and there are 8.0 MiB: no space left on device"
	if got := lessThan(39<<19, 8<<20).Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ n, size, want int64 }{
		{3, 4096, 12288},
		{-3, 4096, 0}, // FreeBSD: what is free is set aside
		{math.MaxInt64, 4096, math.MaxInt64},
		{math.MaxInt64 / 4096, 4096, math.MaxInt64 / 4096 * 4096},
		{5, 0, 0},
	} {
		if got := blocks(c.n, c.size); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.n, c.size, got, c.want)
		}
	}
}

// TestBegunFilesTakeRoom: what other files of the run are still to take is not free, however much
// of them is there; what a closed one was to take is.
func TestBegunFilesTakeRoom(t *testing.T) {
	dir := t.TempDir()
	r := NewRun(dir)
	defer r.Close()
	file, err := os.Create(filepath.Join(dir, "a"))
	must(t, err)
	_, known := freeBytes(file, dir)
	if !known {
		t.Skip("nobody knows here how much is free")
	}
	must(t, r.checkRoom(file, file.Name(), 3<<20))
	wants := func(want int64) {
		t.Helper()
		r.mu.Lock()
		defer r.mu.Unlock()
		if got := r.stillToTake(); got != want {
			t.Errorf("%d bytes are to come, want %d", got, want)
		}
	}
	wants(3 << 20)
	_, err = file.Write(make([]byte, 1<<20))
	must(t, err)
	must(t, file.Sync()) // some file systems allocate then
	wants(2 << 20)
	must(t, file.Close())
	wants(0)
}
