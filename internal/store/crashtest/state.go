package crashtest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// State is a directory's content after a crash.
type State struct {
	dirs  []string // sorted
	files map[string][]byte
}

// Write makes dir, which must be empty, what the state says.
func (s State) Write(dir string) error {
	for _, name := range s.dirs {
		if name == "." {
			continue
		}
		if err := os.Mkdir(filepath.Join(dir, filepath.FromSlash(name)), 0o777); err != nil {
			return err
		}
	}
	for name, data := range s.files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// File returns the content of the file of that slash-separated name, and whether it exists. The
// content must not be changed.
func (s State) File(name string) ([]byte, bool) {
	data, ok := s.files[name]
	return data, ok
}

// Sum is the same for the same states.
func (s State) Sum() [sha256.Size]byte {
	h := sha256.New()
	for _, name := range s.dirs {
		_, _ = fmt.Fprintf(h, "d %q\n", name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		_, _ = fmt.Fprintf(h, "f %q %x\n", name, sha256.Sum256(s.files[name]))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (s State) String() string {
	var b strings.Builder
	for _, name := range s.dirs {
		fmt.Fprintf(&b, "%s/ ", name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(&b, "%s (%d bytes) ", name, len(s.files[name]))
	}
	return strings.TrimSpace(b.String())
}

// ReadState gives what is in dir now.
func ReadState(dir string) (State, error) {
	l, err := newLog(dir)
	if err != nil {
		return State{}, err
	}
	s := State{files: map[string][]byte{}}
	for name, obj := range l.names {
		if l.isDir[obj] {
			s.dirs = append(s.dirs, name)
		} else {
			s.files[name] = l.content[obj]
		}
	}
	slices.Sort(s.dirs)
	return s, nil
}
