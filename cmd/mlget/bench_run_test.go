package main_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benchRun is mlget bench run over loopback, not started.
func benchRun(t *testing.T, dir, n, url string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, "mlget", "bench", "run", "-l", loopback(), "-n", n, "-P", "lab",
		"--cool-down", "0s", "--power-baseline", "0s", "--tail", "0s", url, "--", "--power", "none")}
	p.Dir, p.Stdout, p.Stderr = dir, &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestBenchRunInterrupted: what is complete is kept and reported, what is not leaves
// nothing, and the next time it goes on.
func TestBenchRunInterrupted(t *testing.T) {
	s := newSite(t)
	s.set("hang", "4000000") // more than there is
	dir, url := t.TempDir(), s.clear.URL+"/hang/3000000/f.bin"
	benchRun(t, dir, "1", url).end(t).want(t, 0, "1 of 1: single-")

	s.set("hang", "1500000")
	p := benchRun(t, dir, "2", url)
	waitForFile(t, filepath.Join(dir, "lab", "body.bin.part"))
	if err := interrupt(p.Process); err != nil {
		t.Fatal(err)
	}
	r := p.end(t)
	r.want(t, 130, "^mlget: .*interrupted")
	if !strings.HasPrefix(r.stdout, "1 run, 1 approach") {
		t.Errorf("it reports %s", r.stdout)
	}
	left, err := filepath.Glob(filepath.Join(dir, "lab", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, name := range left {
		names = append(names, filepath.Base(name))
	}
	if got := strings.Join(names, " "); got != "lock plan.json report.html runs runs.csv" {
		t.Errorf("there is %s", got)
	}

	s.release()
	p = benchRun(t, dir, "2", url)
	r = p.end(t)
	r.want(t, 0, "1 of them to do", "2 of 2: single-")
	if !strings.HasPrefix(r.stdout, "2 runs, 1 approach") {
		t.Errorf("it reports %s", r.stdout)
	}
}
