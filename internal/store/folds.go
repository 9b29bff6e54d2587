package store

import (
	"os"
	"path/filepath"
	"strings"
)

// Folds says whether names in dir are one file although they differ in case, or in
// how letters with accents are encoded: on most file systems of phones, Windows and
// macOS. It creates dir, asks by a file that it removes again, and where it cannot
// ask it says no.
func Folds(dir string) bool {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return false
		}
	} else {
		dir = "." // and not the system's for temporary files
	}
	f, err := os.CreateTemp(dir, ".mlget-*-A\u00e9.part")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name()) //nolint:errcheck // nothing can be done about it
	_ = f.Close()             // it is empty
	base := filepath.Base(f.Name())
	for _, other := range []string{
		strings.Replace(base, "A", "a", 1),
		strings.Replace(base, "\u00e9", "e\u0301", 1),
	} {
		if _, err := os.Lstat(filepath.Join(dir, other)); err == nil {
			return true
		}
	}
	return false
}
