//go:build unix

package store

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// A file that gets another name, beside one that was to be taken over, has the umask's
// mode: there is nothing that it replaces.
func TestUnadoptedModeIsTheUmasks(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "x"), "theirs")
	defer syscall.Umask(syscall.Umask(0o077))
	b := testbody.Body{Size: 3000, Seed: 1}
	f := open(t, Target{Dir: dir, Rerun: true, Late: true, Continue: true}, rerunURL)
	must(t, f.Restart()) // its server has no ranges
	if got := getAll(t, f, identity.Identity{Size: b.Size, LastModified: changedAt}, b); got != "x.1" {
		t.Fatalf("it is %s", got)
	}
	fi, err := os.Stat(filepath.Join(dir, "x.1"))
	must(t, err)
	if fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
}
