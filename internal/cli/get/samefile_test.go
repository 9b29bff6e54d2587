package get

import (
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
