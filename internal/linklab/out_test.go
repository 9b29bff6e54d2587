package linklab

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCheckOut(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	if err := os.WriteFile(old, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", old, fresh, "new", os.DevNull} {
		if err := CheckOut(path); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none", "new"), filepath.Join(old, "new")} {
		if err := CheckOut(path); err == nil {
			t.Errorf("%q: no error", path)
		}
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "text" {
		t.Errorf("what was there is now %q, %v", text, err)
	}
	if _, err := os.Stat(fresh); err == nil {
		t.Error("a file was made")
	}
	if status, _, errOut := call("run", "--energy", filepath.Join(dir, "none", "new"), "--", "true"); status != statusFailed || errOut == "" {
		t.Errorf("%d, %q", status, errOut)
	}
}
