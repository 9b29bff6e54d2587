//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
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

// TestStandardOutputByItsName: what the shell has opened is written to, and not replaced.
func TestStandardOutputByItsName(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `echo before > f && mlget --links lo -q -o /dev/stdout "$URL" >> f`)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "URL="+s.clear.URL+"/ranges/1000/x")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "f"))
	check(t, err)
	if len(text) != 1007 || string(text[:7]) != "before\n" {
		t.Errorf("%d bytes, beginning with %.7q", len(text), text)
	}
}
