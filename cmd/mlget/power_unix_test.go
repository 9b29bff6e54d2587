//go:build unix

package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// phone makes a tree with a battery, below a directory.
func phone(t *testing.T, dir string) (battery string) {
	t.Helper()
	battery = filepath.Join(dir, "class", "power_supply", "battery")
	if err := os.MkdirAll(battery, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"type": "Battery\n", "status": "Discharging\n", "current_now": "-375000\n", "voltage_now": "4000000\n",
	} {
		if err := os.WriteFile(filepath.Join(battery, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return battery
}

// TestInterruptedTail: an interrupt ends the tail, and nothing else.
func TestInterruptedTail(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	phone(t, filepath.Join(dir, "sys"))
	p := startMlget(t, dir, "--sysfs", "sys", "--tail", "1h", "--report", "r.json", "--record", "r.jsonl", s.clear.URL+"/ranges/3000000/f.bin")
	waitUntilSaid(t, filepath.Join(dir, "r.jsonl"), `"event":"file_ended"`)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.end(t).want(t, 0)
	r := readReport(t, filepath.Join(dir, "r.json"))
	if r.Power == nil || r.ExitCode != 0 || r.Seconds > 30 {
		t.Errorf("%+v", r)
	}
	wantFile(t, filepath.Join(dir, "f.bin"), 3e6, "")
}

// TestInterruptedBase: it ends the download before it has begun.
func TestInterruptedBase(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	phone(t, filepath.Join(dir, "sys"))
	p := startMlget(t, dir, "--sysfs", "sys", "--power-baseline", "1h", "--record", "r.jsonl", s.clear.URL+"/ranges/3000000/f.bin")
	waitUntilSaid(t, filepath.Join(dir, "r.jsonl"), `"event":"power"`)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.end(t).want(t, 130, "^mlget: .*interrupted")
	if seen := s.seen(); len(seen) > 0 {
		t.Errorf("the site saw %q", seen)
	}
}

// TestGaugesGoBad: the files of a gauge turn into what blocks, grows, or is gone,
// while a download runs.
func TestGaugesGoBad(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	s.set("hang", "1500000")
	battery := phone(t, filepath.Join(dir, "sys"))
	p := startMlget(t, dir, "-v", "--sysfs", "sys", "--power-interval", "10ms", "--json", "--record", "r.jsonl", s.clear.URL+"/hang/3000000/f.bin")
	waitForFile(t, filepath.Join(dir, "f.bin.part"))
	waitUntilSaid(t, filepath.Join(dir, "r.jsonl"), `"event":"power"`) // or there is nothing to tell
	current := filepath.Join(battery, "current_now")
	for _, change := range []func() error{
		func() error { return os.Truncate(current, 100e6) },
		func() error { return os.Remove(current) },
		func() error { return syscall.Mkfifo(current, 0o644) },
		func() error { return os.Rename(battery, battery+".gone") },
		func() error { return os.WriteFile(battery, nil, 0o644) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.release()
	r := p.end(t)
	r.want(t, 0, `power 1\.50 W \(battery\)$`)
	if report := soundReport(t, []byte(r.stdout)); report.Power == nil || report.Power.MedianWatts != 1.5 {
		t.Errorf("%+v, %q", report.Power, report.PowerUnavailable)
	}
	wantFile(t, filepath.Join(dir, "f.bin"), 3e6, "")
}

// TestWatchPower: readings come until an interrupt, which is no failure.
func TestWatchPower(t *testing.T) {
	for _, args := range [][]string{nil, {"--json"}} {
		dir := t.TempDir()
		battery := phone(t, filepath.Join(dir, "sys"))
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		out, err := os.Create(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close() //nolint:errcheck // what it holds is checked
		cmd := exec.CommandContext(ctx, "mlget", append([]string{"power", "--watch", "--power-interval", "10ms", "--sysfs", "sys"}, args...)...)
		cmd.Dir, cmd.Stdout = dir, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitUntilSaid(t, out.Name(), "1.5")
		if err := os.WriteFile(filepath.Join(battery, "current_now"), []byte("-575000\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		waitUntilSaid(t, out.Name(), "2.3")
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if code := exitCode(t, cmd.Wait()); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}

// TestWatchPowerWithoutReader: it ends when nobody reads it any more.
func TestWatchPowerWithoutReader(t *testing.T) {
	for _, flags := range []string{"", "--json"} {
		dir := t.TempDir()
		phone(t, filepath.Join(dir, "sys"))
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", "mlget power --watch --power-interval 10ms --sysfs sys "+flags+" | head -n 1 >/dev/null")
		cmd.Dir = dir
		cmd.WaitDelay = time.Second
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

// waitUntilSaid waits until a file holds a text.
func waitUntilSaid(t *testing.T, name, text string) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
		if have, err := os.ReadFile(name); err == nil && strings.Contains(string(have), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s never said %s", name, text)
		}
	}
}
