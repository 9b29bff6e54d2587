//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

// TestOpenFilesAreAddedTo: what a shell has opened with >> keeps what it had.
func TestOpenFilesAreAddedTo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files have other names, or none")
	}
	const before = "what many runs have said before\n"
	s := newSite(t)
	for _, c := range []struct {
		flag, to string // never /dev/stdout itself: root could replace the system's link
		code     int
		more     string
	}{
		{"--report", "out", 0, `"schema": 1,`},
		{"--report", "/dev/fd/1", 0, `"schema": 1,`},
		{"--record", "out", 0, `{"event":"record","schema":1}`},
		{"--record", "/dev/fd/1", 0, `{"event":"record","schema":1}`},
		{"--metrics-textfile", "out", 3, ""},
		{"--metrics-textfile", "/dev/fd/1", 3, ""},
	} {
		t.Run(c.flag+" "+filepath.Base(c.to), func(t *testing.T) {
			dir := t.TempDir()
			log, out := filepath.Join(dir, "log"), filepath.Join(dir, "out")
			check(t, os.WriteFile(log, []byte(before), 0o600))
			check(t, os.Symlink("/proc/self/fd/1", out)) // as /dev/stdout is one
			var err error
			cmd := exec.Command("mlget", "--links", loopback(), "-q", "-o", "x", c.flag, c.to, s.clear.URL+"/ranges/1000/x")
			cmd.Dir = dir
			cmd.Stdout, err = os.OpenFile(log, os.O_WRONLY|os.O_APPEND, 0)
			check(t, err)
			r := finish(t, cmd, cmd)
			check(t, cmd.Stdout.(*os.File).Close())
			if c.code == 0 {
				r.want(t, 0)
			} else {
				r.want(t, c.code, "^mlget: --metrics-textfile: .*"+c.to+": not a regular file: it stands for one that is open$")
			}
			text, err := os.ReadFile(log)
			if more, ok := strings.CutPrefix(string(text), before); err != nil || !ok || !strings.Contains(more, c.more) || c.more == "" && more != "" {
				t.Errorf("the log is %q, %v", text, err)
			}
			if to, err := os.Readlink(out); err != nil || to != "/proc/self/fd/1" {
				t.Errorf("the link leads to %q, %v", to, err)
			}
		})
	}
}
