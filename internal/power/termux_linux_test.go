package power

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// termuxPrefix makes a $PREFIX whose termux-battery-status is a script.
func termuxPrefix(t *testing.T, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "termux-battery-status"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTermux(t *testing.T) {
	cfg := config(Auto, t.TempDir())
	cfg.Prefix = termuxPrefix(t, `echo '{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":4000,"current":-500000}'`)
	src, err := choose(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	samples, err := src.read(context.Background(), time.Second, nil)
	if d := src.describe(); d.name != Termux || err != nil || len(samples) != 1 || samples[0] != (sample{at: time.Second, watts: 2}) {
		t.Errorf("%+v: %+v, %v", d, samples, err)
	}
}

func TestTermuxThatFails(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3": "exit status 3", "echo the app is missing": "not understood", "echo {}": "no current",
		"yes": "longer than 4 KiB", "head -c 100000 /dev/zero": "longer than 4 KiB",
	} {
		cfg := config(Termux, t.TempDir())
		cfg.Prefix = termuxPrefix(t, script)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		src, err := choose(ctx, cfg)
		cancel()
		if err == nil {
			src.close()
			t.Errorf("%s: %+v", script, src.describe())
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	for _, prefix := range []string{"", "relative", t.TempDir(), "/dev/null"} {
		cfg := config(Termux, t.TempDir())
		cfg.Prefix = prefix
		if src, err := choose(context.Background(), cfg); err == nil {
			t.Errorf("%q: %+v", prefix, src.describe())
		}
	}
}

// TestTermuxThatHangs: it is ended together with what it has started, when it is
// no longer wanted.
func TestTermuxThatHangs(t *testing.T) {
	cfg := config(Termux, t.TempDir())
	cfg.Prefix = termuxPrefix(t, `echo $$ >"${0%/bin/*}/pid"; sleep 1000 & echo $! >"${0%/bin/*}/child"; mv "${0%/bin/*}/child" "${0%/bin/*}/started"; sleep 1000`)
	s := Start(cfg)
	started := filepath.Join(cfg.Prefix, "started")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it was not started")
		}
	}
	s.Stop()
	s.Wait(context.Background())
	for _, name := range []string{"pid", "started"} {
		pid, err := os.ReadFile(filepath.Join(cfg.Prefix, name))
		if err != nil {
			t.Fatal(err)
		}
		if !gone(strings.TrimSpace(string(pid))) {
			t.Errorf("process %s of %s is still there", pid, name)
		}
	}
}

// gone waits until a process has ended, or is a zombie.
func gone(pid string) bool {
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return true
		}
	}
	return false
}
