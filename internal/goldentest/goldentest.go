// Package goldentest holds what a test makes against a file that was looked at once.
package goldentest

import (
	"bytes"
	"os"
	"testing"
)

// File compares got with the file of that name; with UPDATE_GOLDEN=1 in the environment
// it writes the file first.
func File(t testing.TB, name string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(name, got, 0o644); err != nil { //nolint:gosec // it belongs to the source
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what comes out now; look at it, and if it is right, write it with UPDATE_GOLDEN=1:\n%s", name, got)
	}
}
