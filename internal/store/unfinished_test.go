package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// TestContinueRefusesAnUnfinishedFile: a file that another program has reserved the room of is as
// long as the object, and most of it is not there.
func TestContinueRefusesAnUnfinishedFile(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 7}
	id := identity.Identity{Size: b.Size, ETag: `"e"`}
	half := bodyString(t, b)[:b.Size/2]
	cases := map[string]func(t *testing.T, dir string){
		"hole in the middle": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "x"), half)
			w, err := os.OpenFile(filepath.Join(dir, "x"), os.O_WRONLY, 0)
			must(t, err)
			_, err = w.WriteAt([]byte(bodyString(t, b)[b.Size-8192:]), b.Size-8192)
			must(t, err)
			must(t, w.Close())
		},
		"hole at the end": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "x"), half)
			must(t, os.Truncate(filepath.Join(dir, "x"), b.Size))
		},
	}
	for _, control := range []string{"x.aria2", "x.st", "x.lftp-pget-status", "x.crdownload", "x.opdownload", "x.fdmdownload"} {
		cases["beside "+control] = func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "x"), half+strings.Repeat("\x00", len(half)))
			put(t, filepath.Join(dir, control), "state")
		}
	}
	for what, plant := range cases {
		for kind, to := range map[string]Target{
			"alone": {Continue: true}, "named": {Name: "x", Explicit: true, Continue: true},
			"of many": {Continue: true, Rerun: true}, "rerun": {Rerun: true},
		} {
			t.Run(what+", "+kind, func(t *testing.T) {
				if strings.HasPrefix(what, "hole") && runtime.GOOS != "linux" {
					t.Skip("holes are not looked for here")
				}
				to.Dir = t.TempDir()
				plant(t, to.Dir)
				before := tree(t, to.Dir)
				f, err := Open(to, parse(t, hereURL))
				if to.Continue {
					var e *Error
					if !errors.Is(err, ErrUnfinished) || !errors.As(err, &e) || e.Path != filepath.Join(to.Dir, "x") {
						t.Fatalf("%v", err)
					}
					if now := tree(t, to.Dir); !maps.Equal(now, before) {
						t.Error("what was there has changed")
					}
					return
				}
				must(t, err)
				if !strings.Contains(f.Notice(), "not finished") {
					t.Errorf("notice %q", f.Notice())
				}
				if got := getAll(t, f, id, b); got != "x.1" || content(t, to.Dir, got) != bodyString(t, b) {
					t.Errorf("it became %s", got)
				}
				if content(t, to.Dir, "x") != before[filepath.Join(to.Dir, "x")] {
					t.Error("x has changed")
				}
			})
		}
	}
}
