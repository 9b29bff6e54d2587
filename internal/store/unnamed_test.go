package store

import (
	"errors"
	"testing"
)

// TestUnnamedFileIsGone: a file that only shows what files of the directory are like leaves
// nothing behind, even if the process is killed before it could remove it.
func TestUnnamedFileIsGone(t *testing.T) {
	dir := t.TempDir()
	d, err := openDirectory(dir)
	must(t, err)
	defer d.close()
	if f, err := d.openUnnamed(0o666); !errors.Is(err, errors.ErrUnsupported) { // as most file systems can
		must(t, err)
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
			t.Error(fi, err)
		}
		must(t, f.Close())
		wantNames(t, dir)
	}
	if _, err := d.grants(); err != nil {
		t.Error(err)
	}
	wantNames(t, dir)
}
