package main_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/pkg/scheduler"
)

// running is an mlget that was started and is to be ended, or disturbed.
type running struct {
	*linklab.Cmd
	stderr bytes.Buffer
}

// start starts a download of the lab's body to out.bin, with a record.
func (l *lab) start(t testing.TB, args ...string) *running {
	t.Helper()
	return l.startOver(t, strings.Join(l.Links(), ","), args...)
}

// startOver does so over links of one's own choice.
func (l *lab) startOver(t testing.TB, links string, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	args = append([]string{"--links", links, "-o", "out.bin", "--report", "report.json", "--record", "record.jsonl", l.URL()}, args...)
	r := &running{Cmd: l.Command(ctx, "mlget", args...)}
	r.Dir = l.dir
	r.Stderr = &r.stderr
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// end waits for it and checks what it printed.
func (r *running) end(t testing.TB) result {
	t.Helper()
	res := result{code: exitCode(t, r.Wait()), stderr: r.stderr.String()}
	if res.code != -1 { // nobody has killed it
		if err := checkOutput(res.code, "", res.stderr); err != nil {
			t.Errorf("%v\n%s", err, res.stderr)
		}
	}
	return res
}

// waitForFirst waits until a megabyte more has come down the lab's first link.
func (l *lab) waitForFirst(t testing.TB) {
	t.Helper()
	from := l.Stats()[0].Down.Bytes
	waitUntil(t, "bytes over the first link", func() bool { return l.Stats()[0].Down.Bytes >= from+1e6 })
}

// carried is how many bytes have come down the lab's links so far.
func (l *lab) carried() (bytes int64) {
	for _, s := range l.Stats() {
		bytes += s.Down.Bytes
	}
	return bytes
}

// waitFor waits until so many more bytes have come.
func (l *lab) waitFor(t testing.TB, bytes int64) {
	t.Helper()
	from := l.carried()
	waitUntil(t, "bytes", func() bool { return l.carried() >= from+bytes })
}

// events reads the record, also one whose last line was cut off: nothing before there is one.
func (l *lab) events(t testing.TB) []event.Event {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "record.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(text) == 0 { // it has just been made
		return nil
	}
	r, err := record.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var events []event.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			if r.Skipped() > 0 {
				t.Errorf("%d events of unknown kinds", r.Skipped())
			}
			return events
		}
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

// doneBefore is how many bytes a recorded run had two seconds before its last sample,
// in the worst case those that it started with. These are two seconds of its own: at least
// ten samples, which are 200 ms apart. On a busy machine they come late, as what it saves does.
func doneBefore(events []event.Event) (bytes int64) {
	const before, samples = 2 * scheduler.Second, 10
	var all []event.Sample
	for _, e := range events {
		switch e := e.(type) {
		case event.ObjectKnown:
			bytes = e.Resumed
		case event.Sample:
			all = append(all, e)
		}
	}
	for i, s := range all {
		if s.Size >= 0 && len(all)-1-i >= samples && s.At <= all[len(all)-1].At-before {
			bytes = s.Done
		}
	}
	return bytes
}

// TestKill: whenever it is killed, at most two seconds' progress is lost. Every other run is
// killed at any moment, the others once there is something that must not be lost.
func TestKill(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 60e6}, slowWiFi, slowLTE)
	l.dir = memoryDir(t) // nobody's disk is so slow that a sync of it takes seconds
	owed := int64(0)     // bytes that the next run must find
	for try := range 7 {
		if err := os.Remove(filepath.Join(l.dir, "record.jsonl")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		r := l.start(t)
		if try%2 == 0 {
			waitUntil(t, "progress", func() bool { return doneBefore(l.events(t)) > 0 })
		}
		moment := rand.N(3200 * time.Millisecond)
		time.Sleep(moment)
		if err := r.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Fatal(err)
		}
		if res := r.end(t); res.code == 0 { // it was quicker
			if owed > 0 {
				break
			}
			if err := os.Remove(filepath.Join(l.dir, "out.bin")); err != nil {
				t.Fatal(err)
			}
			continue
		}
		known := false
		for _, e := range l.events(t) {
			if o, ok := e.(event.ObjectKnown); ok {
				known = true
				if o.Resumed < owed {
					t.Fatalf("try %d resumed %d bytes, must be %d", try, o.Resumed, owed)
				}
			}
		}
		if known {
			owed = doneBefore(l.events(t))
		}
		t.Logf("killed after %v; must resume %d bytes", moment, owed)
		if _, err := os.Stat(filepath.Join(l.dir, "out.bin")); err == nil {
			t.Fatal("out.bin is there before it is whole")
		}
	}
	if owed == 0 {
		t.Fatal("every run was killed before there was anything to lose")
	}
	if _, err := os.Stat(filepath.Join(l.dir, "out.bin")); err != nil {
		r := l.fetch(t, l.URL())
		t.Logf("the last run resumed %d bytes", r.ResumedBytes)
		if r.ResumedBytes < owed {
			t.Errorf("the last run resumed %d bytes, must be %d", r.ResumedBytes, owed)
		}
		return
	}
	l.wantBody(t)
}

// TestInterrupt: Ctrl-C ends in order, with the state saved: the next run has all that
// the one before has told of.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 30e6}, slowWiFi, slowLTE)
	had := int64(0)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		r := l.start(t)
		l.waitFor(t, 8e6)
		if err := r.Signal(s); err != nil {
			t.Fatal(err)
		}
		r.end(t).want(t, 130, "^mlget: .*interrupted", "^mlget: hint: .*same command")
		rep := readReport(t, filepath.Join(l.dir, "report.json"))
		if rep.ExitCode != 130 || rep.ResumedBytes < had {
			t.Errorf("the report says %d, and that %d of %d bytes were there", rep.ExitCode, rep.ResumedBytes, had)
		}
		had = rep.ResumedBytes
		for _, k := range rep.Links {
			had += k.Bytes
		}
	}
	if r := l.fetch(t, l.URL()); r.ResumedBytes < had || had == 0 {
		t.Errorf("resumed %d of %d bytes", r.ResumedBytes, had)
	}
}

// TestWiFiDies: the other link finishes the job.
func TestWiFiDies(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 30e6}, slowWiFi, slowLTE)
	r := l.start(t)
	l.waitFor(t, 8e6)
	happen(t, l, "wlan0 down")
	r.end(t).want(t, 0)
	l.wantBody(t)
	rep := readReport(t, filepath.Join(l.dir, "report.json"))
	if rep.Links[1].Bytes <= rep.Links[0].Bytes {
		t.Errorf("%+v", rep.Links)
	}
	if s := rep.Links[0].State; s != "banned" && s != "lost" {
		t.Errorf("wlan0 is %s", s)
	}
}

// TestBothDieOneReturns: no link for a while is no reason to give up.
func TestBothDieOneReturns(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 30e6}, slowWiFi, slowLTE)
	r := l.start(t)
	l.waitFor(t, 8e6)
	happen(t, l, "wlan0 down")
	happen(t, l, "rmnet0 down")
	time.Sleep(3 * time.Second)
	happen(t, l, "rmnet0 up")
	r.end(t).want(t, 0)
	l.wantBody(t)
}

func happen(t testing.TB, l *lab, text string) {
	t.Helper()
	if err := l.Event(text); err != nil {
		t.Fatal(err)
	}
}

// TestReplay: the record of a real run drives another scheduler to the same
// decisions.
func TestReplay(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 20e6}, fastWiFi, fastLTE)
	for _, algorithm := range scheduler.Names() {
		t.Run(algorithm, func(t *testing.T) {
			r := l.start(t, "--algorithm", algorithm)
			r.end(t).want(t, 0)
			l.wantBody(t)
			var cfg *scheduler.Config
			var steps []scheduler.Recorded
			for _, e := range l.events(t) {
				switch e := e.(type) {
				case event.SchedulerStarted:
					policy, err := scheduler.NewPolicy(e.Algorithm, e.StaticLimit, e.Padding)
					if err != nil {
						t.Fatal(err)
					}
					cfg = &scheduler.Config{
						Links: e.Links, Policy: policy, Size: e.Size, Have: e.Have, Overlap: e.Overlap,
						Window: e.Window, NoSteal: e.NoSteal, NoFailover: e.NoFailover, TLS: e.TLS,
					}
				case event.Step:
					steps = append(steps, scheduler.Recorded{At: e.At, Input: e.Input, Actions: e.Actions})
				}
			}
			if cfg == nil || len(steps) < 10 {
				t.Fatalf("%v, %d steps", cfg, len(steps))
			}
			if err := scheduler.Replay(*cfg, steps); err != nil {
				t.Error(err)
			}
		})
	}
}
