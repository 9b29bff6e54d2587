package power

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/event"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// unpack writes a tree of testdata/sysfs to a directory of the test's own. There they
// are archives, since modules hold neither symbolic links nor names with colons:
// "-- a -> b --" is a link.
func unpack(t testing.TB, name string) string {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("../../testdata/sysfs", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range a.Files {
		link, target, isLink := strings.Cut(f.Name, " -> ")
		path := filepath.Join(dir, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, f.Data, 0o644)
		}
		if err != nil {
			t.Skip("no such names on this system: ", err)
		}
	}
	return dir
}

// write changes a file of a tree as a driver would: at once.
func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// config is one with a bus of its own.
func config(source, dir string) Config {
	return Config{Source: source, Sysfs: dir, Interval: time.Second, Unit: UnitAuto, Started: time.Now(), Bus: &event.Bus{}}
}

// open opens a source of a tree.
func open(t testing.TB, name, dir string) source {
	t.Helper()
	src, err := choose(context.Background(), config(name, dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(src.close)
	return src
}
