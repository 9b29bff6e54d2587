//go:build unix

package store

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// A process that is being started has all descriptors of its parent until it runs its
// program. The name is free all the same when the download has ended.
func TestLockEndsWithTheDownload(t *testing.T) {
	for name, to := range map[string]Target{"ours": {}, "another tool's": {Continue: true}} {
		t.Run(name, func(t *testing.T) {
			to.Dir = t.TempDir()
			if to.Continue {
				put(t, filepath.Join(to.Dir, "x"), "theirs")
			}
			f := open(t, to, hereURL)
			var done []scheduler.Range
			if !to.Continue {
				must(t, f.Begin(identity.Identity{Size: 10}))
				_, err := f.WriteAt([]byte("12345"), 0)
				must(t, err)
				done = []scheduler.Range{{End: 5}}
				must(t, f.Checkpoint(done))
			}
			childs, err := syscall.Dup(int(f.file.Fd()))
			must(t, err)
			defer func() { _ = syscall.Close(childs) }()
			must(t, f.Suspend(done))
			must(t, open(t, to, hereURL).Close())
		})
	}
}
