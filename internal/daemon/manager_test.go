package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// slow takes a second for a file, of whose URI the last part is its name.
type slow struct{}

func (slow) Path(job Job) (string, bool) {
	return filepath.Base(job.URIs[0]) + "." + strconv.Itoa(job.Number), true
}

func (slow) Limit(int64) {}

func (slow) Download(ctx context.Context, job Job, p *Progress) Outcome {
	p.SetSize(100)
	p.SetDone(50)
	select {
	case <-ctx.Done():
		return Outcome{Code: 7}
	case <-time.After(time.Second):
	}
	if filepath.Base(job.URIs[0]) == "lost" && job.Retries == 0 {
		return Outcome{Code: 6, Message: "no link", Retryable: true}
	}
	return Outcome{Path: job.Path, Size: 100}
}

func start(t *testing.T) *Manager {
	t.Helper()
	return New(t.Context(), NewQueue(1000), nil, Options{"max-concurrent-downloads": "2"}, slow{})
}

func add(t *testing.T, m *Manager, g GID, name string) {
	t.Helper()
	if _, err := m.Add(g, []string{"http://example.org/" + name}, nil, -1); err != nil {
		t.Fatal(err)
	}
}

func states(t *testing.T, m *Manager, all ...GID) (s []State) {
	t.Helper()
	for _, g := range all {
		got, err := m.Status(g.String())
		if err != nil {
			t.Fatal(err)
		}
		s = append(s, got.State)
	}
	return s
}

func TestManagerRunsAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		told := m.Subscribe()
		for g := range GID(4) {
			add(t, m, g+1, "a")
		}
		synctest.Wait()
		if got := states(t, m, 1, 2, 3, 4); !slices.Equal(got, []State{Active, Active, Waiting, Waiting}) {
			t.Error(got)
		}
		if _, err := m.Pause(GID(1).String()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := states(t, m, 1, 2, 3, 4); !slices.Equal(got, []State{Paused, Active, Active, Waiting}) {
			t.Error(got)
		}
		if s, _ := m.Status(GID(1).String()); s.Done != 50 || s.Size != 100 || s.Path != "a.0" {
			t.Errorf("%+v", s)
		}
		if s, _ := m.Status(GID(3).String()); s.Path != "a.2" {
			t.Errorf("two jobs have one file: %+v", s)
		}
		if _, err := m.Unpause(GID(1).String()); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Remove(GID(3).String()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		if got := states(t, m, 1, 2, 3, 4); !slices.Equal(got, []State{Complete, Complete, Removed, Complete}) {
			t.Error(got)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		kinds := map[Kind]int{}
		for n := range told {
			kinds[n.Kind]++
		}
		if kinds[Started] != 5 || kinds[PausedNow] != 1 || kinds[Stopped] != 1 || kinds[Completed] != 3 {
			t.Error(kinds)
		}
	})
}

// TestLimitsChangeSilently: aria2 tells of a download that begins again with other options, but not
// of one that only has another limit.
func TestLimitsChangeSilently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		told := m.Subscribe()
		add(t, m, 1, "a")
		synctest.Wait()
		for _, change := range []func() error{
			func() error { return m.SetGlobal(Options{"max-overall-download-limit": "1000"}) },
			func() error { return m.SetOptions(GID(1).String(), Options{"max-download-limit": "10"}) },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if got := states(t, m, 1); got[0] != Active {
				t.Error(got)
			}
		}
		if len(told) != 1 {
			t.Errorf("%d notices of one start", len(told))
		}
		if err := m.SetOptions(GID(1).String(), Options{"header": "X: y", "max-download-limit": "10"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(told) != 2 {
			t.Errorf("%d notices of two starts", len(told))
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestFailedJobsGoOnWhenLinksReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := start(t)
		add(t, m, 1, "lost")
		time.Sleep(2 * time.Second)
		if s, _ := m.Status(GID(1).String()); s.State != Failed || s.Code != 6 {
			t.Fatalf("%+v", s)
		}
		m.LinksReturned()
		time.Sleep(2 * time.Second)
		if s, _ := m.Status(GID(1).String()); s.State != Complete || s.Code != 0 || s.Message != "" {
			t.Errorf("%+v", s)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestQueueSurvivesItsProcess(t *testing.T) {
	name := filepath.Join(t.TempDir(), "session")
	synctest.Test(t, func(t *testing.T) {
		s, q, _ := mustOpen(t, name)
		m := New(t.Context(), q, s, Options{"max-concurrent-downloads": "1"}, slow{})
		m.Start()
		add(t, m, 1, "a")
		add(t, m, 2, "b")
		time.Sleep(1500 * time.Millisecond)
		// What a kill leaves behind is what is there now.
		left := NewQueue(1000)
		if _, err := s.read(left); err != nil {
			t.Fatal(err)
		}
		if a, ok := left.Job(1); !ok || a.State != Complete || a.Path != "a.0" {
			t.Errorf("%+v", a)
		}
		if b, ok := left.Job(2); !ok || b.State != Waiting || !b.Begun || b.Path != "b.0" {
			t.Errorf("%+v", b)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	})
	s, q, _ := mustOpen(t, name)
	defer s.Close() //nolint:errcheck // the test is over
	if b, ok := q.Job(2); !ok || b.State != Waiting || b.Done != 50 {
		t.Errorf("%+v", b)
	}
}
