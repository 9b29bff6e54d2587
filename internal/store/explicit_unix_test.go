//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A name that -o gives leads where it leads a shell.
func TestExplicitNameBehindALink(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(top, "there", "sub"), 0o700))
	here := filepath.Join(top, "here")
	must(t, os.Mkdir(here, 0o700))
	must(t, os.Symlink(filepath.Join("..", "there", "sub"), filepath.Join(here, "link")))
	must(t, os.Symlink("nowhere", filepath.Join(here, "dangling")))
	t.Chdir(here)
	for _, c := range []struct{ dir, name, want string }{
		{"", "link/../x", "../there/x"},
		{"", "./link/.././x", "../there/x"},
		{"", "link/../../x", "../x"},
		{"", here + "/link/../x", top + "/there/x"},
		{"link", "../x", "../there/x"},
		{"link/..", "x", "../there/x"},
		{here + "/link", "../x", top + "/there/x"},
		{"link", here + "/../x", top + "/x"},
		{"", "../x", "../x"},
		{"", "../here/x", "../here/x"},
		{"", "../here/link/x", "../here/link/x"},
		{"", "link/x", "link/x"},
		{here + "//", "./x", here + "/x"},
		{"", "/../" + here + "/x", here + "/x"},
		{"", "link/..x", "link/..x"},
		{"new", "../x", "x"}, // it is made
	} {
		f := open(t, Target{Dir: c.dir, Name: c.name, Explicit: true}, hereURL)
		if f.Name() != c.want {
			t.Errorf("%q, %q: %s, want %s", c.dir, c.name, f.Name(), c.want)
		}
		must(t, f.Close())
	}
	for _, name := range []string{"dangling/../x", "missing/../x"} {
		if f, err := Open(Target{Name: name, Explicit: true}, parse(t, hereURL)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// A name for which there is room, and none for what stands beside it meanwhile.
func TestExplicitNameTooLong(t *testing.T) {
	for n, want := range map[int]error{255 - len(newSuffix): nil, 256 - len(newSuffix): syscall.ENAMETOOLONG, 255: syscall.ENAMETOOLONG} {
		f, err := Open(Target{Dir: t.TempDir(), Name: strings.Repeat("n", n), Explicit: true}, parse(t, hereURL))
		if !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if err == nil {
			must(t, f.Close())
		}
	}
}
