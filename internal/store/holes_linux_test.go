package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPreallocatedIsUnfinished: room that was reserved, and counted into the file's length, has no
// bytes in it.
func TestPreallocatedIsUnfinished(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "mlget-holes-")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(shm)) })
	for _, dir := range []string{t.TempDir(), shm} {
		path := filepath.Join(dir, "x")
		put(t, path, bodyString(t, body))
		w, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		err = unix.Fallocate(int(w.Fd()), 0, 0, 1<<20)
		must(t, w.Close())
		must(t, err)
		if _, err := Open(Target{Dir: dir, Continue: true}, parse(t, hereURL)); !errors.Is(err, ErrUnfinished) {
			t.Errorf("in %s: %v", dir, err)
		}
		wantNames(t, dir, "x")
	}
}
