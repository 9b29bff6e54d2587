//go:build unix

package main_test

import (
	"encoding/json"
	"os"
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

// TestReportIntoAPipe: its reader gets all of it, and does not see an end before.
func TestReportIntoAPipe(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	pipe := filepath.Join(dir, "p")
	check(t, syscall.Mkfifo(pipe, 0o600))
	got := make(chan []byte, 1)
	go func() {
		text, err := os.ReadFile(pipe)
		if err != nil {
			t.Error(err)
		}
		got <- text
	}()
	mlget(t, dir, "-q", "--report", "p", s.clear.URL+"/ranges/1000/f").want(t, 0)
	if text := <-got; !json.Valid(text) {
		t.Errorf("%q", text)
	}
}
