package store

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// childEnv makes the test binary play another process; see TestMain.
const childEnv = "MLGET_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "download":
		downloadForever(os.Getenv("MLGET_STORE_TEST_DIR"))
	case "scene":
		playScene(os.Getenv("MLGET_STORE_TEST_DIR"), os.Getenv("MLGET_STORE_TEST_SCENE"))
	default: // a test that runs itself again, in other surroundings
		os.Exit(m.Run())
	}
}

func parse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, to Target, u string) *File {
	t.Helper()
	f, err := Open(to, parse(t, u))
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// write puts the body's bytes of r at their place.
func write(t testing.TB, w interface {
	WriteAt(p []byte, off int64) (int, error)
}, b testbody.Body, r scheduler.Range,
) {
	t.Helper()
	p := make([]byte, r.Len())
	_, _ = b.ReadAt(p, r.Off) // io.EOF at the end
	_, err := w.WriteAt(p, r.Off)
	must(t, err)
}

// names lists dir.
func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func wantNames(t testing.TB, dir string, want ...string) {
	t.Helper()
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Fatalf("there are %q, want %q", got, want)
	}
}

func content(t testing.TB, elem ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(elem...))
	must(t, err)
	return string(b)
}

func put(t testing.TB, path, s string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(s), 0o644))
}

func bodyString(t testing.TB, b testbody.Body) string {
	t.Helper()
	p := make([]byte, b.Size)
	_, err := b.ReadAt(p, 0)
	must(t, err)
	return string(p)
}

func ranges(bounds ...int64) []scheduler.Range {
	var out []scheduler.Range
	for i := 0; i < len(bounds); i += 2 {
		out = append(out, scheduler.Range{Off: bounds[i], End: bounds[i+1]})
	}
	return out
}
