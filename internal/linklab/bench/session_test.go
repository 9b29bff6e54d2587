package bench

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/results"
)

// fakeRunner takes no time; it is interrupted after so many jobs.
type fakeRunner struct {
	jobs   []Job
	after  int
	cancel context.CancelFunc
	err    error
	closed bool
}

func (f *fakeRunner) run(_ context.Context, j Job) (Result, error) {
	f.jobs = append(f.jobs, j)
	if len(f.jobs) == f.after {
		f.cancel()
	}
	r := Result{Bound: 5, Seconds: 6}
	if strings.HasPrefix(j.Tool, "axel") {
		r.Failure, r.Detail = "exit status 1", "no"
	}
	return r, f.err
}

func (f *fakeRunner) close() error { f.closed = true; return nil }

func testSession(t *testing.T, path string, r runner) (*Session, *bytes.Buffer) {
	t.Helper()
	j, err := results.Open[Header, Result](path, testHeader(t))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	return &Session{cfg: testConfig(t), runner: r, journal: j, out: &out}, &out
}

func TestInterruptedSessionGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	plan := testConfig(t).Plan()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := &fakeRunner{after: 30, cancel: cancel}
	s, _ := testSession(t, path, first)
	if err := s.work(ctx, s.pending()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := s.finish(); err != nil || !first.closed {
		t.Fatal(err)
	}
	second := &fakeRunner{}
	s, out := testSession(t, path, second)
	jobs := s.pending()
	if err := errors.Join(s.announce(jobs), s.work(t.Context(), jobs), s.finish()); err != nil {
		t.Fatal(err)
	}
	// The 30th was stopped in the middle and does not count.
	if !slices.Equal(first.jobs, plan[:30]) || !slices.Equal(second.jobs, plan[29:]) {
		t.Errorf("%d and %d jobs of %d", len(first.jobs), len(second.jobs), len(plan))
	}
	if !strings.Contains(out.String(), "70 runs to do, 29 are there already: about ") || !strings.Contains(out.String(), "exit status 1: no\n") {
		t.Errorf("%s", out)
	}
	if len(s.journal.Results) != len(plan) || len(s.pending()) != 0 {
		t.Errorf("%d results", len(s.journal.Results))
	}
	if h := testHeader(t); len(h.config().left(s.journal.Results)) != 0 || len(h.config().left(s.journal.Results[5:])) != 5 {
		t.Error("missing runs are counted wrongly")
	}
}

func TestSessionEndsWhereNothingCanRun(t *testing.T) {
	broken := errors.New("no network")
	f := &fakeRunner{err: broken}
	s, _ := testSession(t, filepath.Join(t.TempDir(), "results"), f)
	if err := s.work(t.Context(), s.pending()); !errors.Is(err, broken) || len(s.journal.Results) != 0 || len(f.jobs) != 1 {
		t.Errorf("%v, %v", err, s.journal.Results)
	}
	if err := s.finish(); err != nil {
		t.Error(err)
	}
}
