//go:build unix

package main_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeOfNobody: a pipe that nobody reads is waited for no longer than for all else.
func TestPipeOfNobody(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	check(t, syscall.Mkfifo(filepath.Join(dir, "p"), 0o600))
	mlget(t, dir, "--max-time", "200ms", "-o", "p", s.clear.URL+"/ranges/1000/f").want(t, 4, "^mlget: .*--max-time")
	if seen := s.seen(); len(seen) > 0 {
		t.Errorf("the site saw %q", seen)
	}
}
