//go:build unix

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestHangup: a terminal that is closed interrupts, with the state saved, however
// often it says so; under nohup it does nothing.
func TestHangup(t *testing.T) {
	// Who is under nohup itself hands that on, unless it listens.
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	defer signal.Stop(heard)
	s := newSite(t)
	s.set("hang", "1500000")
	dir, url := t.TempDir(), s.clear.URL+"/hang/3000000/f.bin"
	p := startMlget(t, dir, url)
	waitForFile(t, filepath.Join(dir, "f.bin.part"))
	for range 3 {
		check(t, p.Process.Signal(syscall.SIGHUP))
	}
	p.end(t).want(t, 130, "^mlget: interrupted$")

	nohup, err := exec.LookPath("nohup")
	if err != nil {
		t.Skip(err)
	}
	p = prepareMlget(t, dir, url)
	p.Path, p.Args = nohup, append([]string{"nohup"}, p.Args...)
	s.seen()
	check(t, p.Start())
	for deadline := time.Now().Add(hang); len(s.seen()) == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it asks for nothing")
		}
	}
	check(t, p.Process.Signal(syscall.SIGHUP))
	s.release()
	p.end(t).want(t, 0, "were there before")
	wantFile(t, filepath.Join(dir, "f.bin"), 3e6, "")
}

// TestSignalsTogether: timeout(1) signals mlget and then its group, mlget among them;
// both are one wish, and the end is in order.
func TestSignalsTogether(t *testing.T) {
	s := newSite(t)
	s.set("hang", "1500000")
	dir := t.TempDir()
	p := startMlget(t, dir, "--json", s.clear.URL+"/hang/3000000/f.bin")
	waitForFile(t, filepath.Join(dir, "f.bin.part"))
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGTERM} {
		check(t, p.Process.Signal(sig))
	}
	r := p.end(t)
	r.want(t, 130, "^mlget: interrupted$")
	var report struct {
		ExitCode int `json:"exit_code"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &report); err != nil || report.ExitCode != 130 {
		t.Errorf("report: %v, %+v", err, report)
	}
}
