package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestSameFile: by another name, too.
func TestSameFile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", "link"); err != nil {
		t.Skip(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"a", "./a", true},
		{"new", "./new", true},
		{"a", filepath.Join(here, "a"), true},
		{"link", "a", true},
		{"a", "b", false},
		{"a", "new", false},
		{"", "", false},
		{"-", "-", false},
		{os.DevNull, os.DevNull, false},
		{".", here, false}, // no files
	} {
		if sameFile(c.a, c.b) != c.want || sameFile(c.b, c.a) != c.want {
			t.Errorf("%q and %q: want %v", c.a, c.b, c.want)
		}
	}
}

// TestCreateKeepsWhatWasThere: a report that cannot be made replaces nothing.
func TestCreateKeepsWhatWasThere(t *testing.T) {
	failed := errors.New("no more of it")
	name := filepath.Join(t.TempDir(), "report")
	for _, c := range []struct {
		text string
		fail error
		want string
	}{{"old", nil, "old"}, {"new", failed, "old"}, {"new", nil, "new"}} {
		err := create(name, func(w io.Writer) error {
			_, err := io.WriteString(w, c.text)
			return errors.Join(err, c.fail)
		})
		if !errors.Is(err, c.fail) || c.fail != nil && !errors.As(err, new(fileError)) {
			t.Errorf("%v", err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != c.want {
			t.Errorf("%q, %v, want %q", text, err, c.want)
		}
	}
	if err := create(filepath.Join(name, "x"), func(io.Writer) error { return nil }); !errors.As(err, new(fileError)) {
		t.Errorf("below a file: %v", err)
	}
}
