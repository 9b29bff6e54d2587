package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/internal/report"
)

func plan() Plan {
	return Plan{
		URL: "http://example.org/a", Runs: 3, Seed: 7,
		Approaches: Approaches([]string{"single", "3", "2"}, []string{"off", "emtcp"}, []string{"wlan0", "rmnet0"}),
	}
}

func TestApproaches(t *testing.T) {
	names := func(list []Approach) (n []string) {
		for _, a := range list {
			n = append(n, a.Name)
		}
		return n
	}
	for _, c := range []struct {
		algorithms, energies, links, want []string
	}{
		{[]string{"single", "3", "2"}, []string{"off"}, []string{"a", "b"}, []string{"single-a", "single-b", "algorithm-3", "algorithm-2"}},
		{[]string{"3"}, []string{"off", "min-energy"}, []string{"a", "b"}, []string{"algorithm-3", "algorithm-3-min-energy"}},
		{[]string{"3", "naive", "single"}, []string{"off"}, []string{"a"}, []string{"single-a"}},
		{[]string{"single"}, []string{"off"}, []string{"../x/y", "b c"}, []string{"single-.._x_y", "single-b_c"}},
		// Links that are called alike are kept apart.
		{[]string{"single"}, []string{"off"}, []string{"eth0:1", "eth0_1", "wän", "wün", "eth0/1"}, []string{"single-eth0_1-2", "single-eth0_1", "single-w_n", "single-w_n-2", "single-eth0_1-3"}},
		{[]string{"single"}, []string{"off"}, []string{"a", "A", "a-2"}, []string{"single-a", "single-A-2", "single-a-2-2"}},
	} {
		if got := names(Approaches(c.algorithms, c.energies, c.links)); !slices.Equal(got, c.want) {
			t.Errorf("%v over %v: %v, want %v", c.algorithms, c.links, got, c.want)
		}
	}
}

func TestOrder(t *testing.T) {
	p := plan()
	first := p.order()
	if !reflect.DeepEqual(first, p.order()) {
		t.Error("the same seed gives another order")
	}
	p.Seed++
	if reflect.DeepEqual(first, p.order()) {
		t.Error("another seed gives the same order")
	}
	seen := make(map[execution]bool)
	for _, e := range first {
		seen[e] = true
	}
	if want := len(p.Approaches) * p.Runs; len(first) != want || len(seen) != want {
		t.Errorf("%d executions, %d different ones, want %d", len(first), len(seen), want)
	}
	sorted := slices.IsSortedFunc(first, func(a, b execution) int { return a.approach - b.approach })
	if sorted {
		t.Error("the order is not mixed")
	}
}

// begin opens a campaign that the test's end closes at the latest.
func begin(t *testing.T, dir string, plan Plan) *Campaign {
	t.Helper()
	c, err := Open(dir, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	c := begin(t, dir, plan())
	if _, err := Open(dir, plan()); !errors.Is(err, filelock.ErrBusy) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second one: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	begin(t, dir, plan())
}

// TestForeignFiles: where there is no campaign, no file is a campaign's.
func TestForeignFiles(t *testing.T) {
	for _, name := range []string{"body.bin", "body.bin.part", "body.bin.part.json", "record.making", "report.making", "report.html", "runs.csv"} {
		dir := t.TempDir()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, plan()); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
		if names := files(t, dir); len(names) != 1 || names[0] != name {
			t.Errorf("there are %v", names)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := begin(t, dir, plan()).Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("the campaign's"), 0o600); err != nil {
			t.Fatal(err)
		}
		begin(t, dir, plan())
	}
}

// fake is a Runner that writes what it was told to, and a Watcher.
type fake struct {
	t      *testing.T
	ran    []string
	exit   func(n int) int // of the n-th run, from 1; below 0: no report
	stop   func(n int)     // called in the n-th run
	events []string
	base   func(n int) float64 // W, of the n-th run; nil: nothing is measured
	odd    []string
}

func (f *fake) OutOfLine(run string, base, usual float64, again bool) {
	f.odd = append(f.odd, fmt.Sprintf("%s %.2f %.2f %v", run, base, usual, again))
}

func (f *fake) Run(_ context.Context, r Request) error {
	f.ran = append(f.ran, r.Approach.Name)
	n := len(f.ran)
	code := 0
	if f.exit != nil {
		code = f.exit(n)
	}
	for _, name := range []string{r.Body + ".part", r.Record} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			f.t.Fatal(err)
		}
	}
	if f.stop != nil {
		f.stop(n)
	}
	if code < 0 {
		return errors.New("no such program")
	}
	made := report.Report{Schema: 1, Version: "1", ExitCode: code, Error: strings.Repeat("bad", code)}
	if f.base != nil {
		made.Power = &report.Power{Source: "battery", BaseWatts: f.base(n), BaseMeasured: true}
		made.Energy = &report.Energy{}
	}
	text, err := json.Marshal(made)
	if err != nil {
		f.t.Fatal(err)
	}
	return os.WriteFile(r.Report, text, 0o600)
}

func (f *fake) Ran(done, total int, _ Approach, r report.Report) {
	f.events = append(f.events, fmt.Sprintf("%d/%d %d", done, total, r.ExitCode))
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestInterruptAndResume(t *testing.T) {
	dir := t.TempDir()
	c := begin(t, dir, plan())
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	f := &fake{t: t, stop: func(n int) {
		if n == 5 {
			cancel(interrupted)
		}
	}}
	if err := c.Run(ctx, f, f); !errors.Is(err, interrupted) {
		t.Fatalf("%v", err)
	}
	if names := files(t, dir); len(names) != 2+2*4 {
		t.Errorf("after an interruption there are %v", names)
	}
	total := len(plan().Approaches) * plan().Runs
	if left, all := c.Left(); left != total-4 || all != total {
		t.Errorf("%d of %d left", left, all)
	}

	reopen := func(plan Plan) {
		t.Helper()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = begin(t, dir, plan)
	}
	reopen(plan())
	rest := &fake{t: t}
	if err := c.Run(t.Context(), rest, rest); err != nil {
		t.Fatal(err)
	}
	if len(rest.ran) != total-4 || rest.ran[0] != f.ran[4] {
		t.Errorf("it goes on with %v after %v", rest.ran, f.ran)
	}
	if names := files(t, dir); len(names) != 2+2*total {
		t.Errorf("in the end there are %d files: %v", len(names), names)
	}
	more := plan()
	more.Runs++
	reopen(more)
	if left, _ := c.Left(); left != len(more.Approaches) {
		t.Errorf("%d left of one more run each", left)
	}
	other := plan()
	other.URL += "b"
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, other); !errors.Is(err, ErrOther) {
		t.Errorf("another plan: %v", err)
	}
}

func TestFailures(t *testing.T) {
	dir := t.TempDir()
	c := begin(t, dir, plan())
	// Single failures are kept and passed over, and made anew the next time.
	f := &fake{t: t, exit: func(n int) int { return n % 2 }}
	if err := c.Run(t.Context(), f, f); err != nil {
		t.Fatal(err)
	}
	total := len(plan().Approaches) * plan().Runs
	if left, _ := c.Left(); left != (total+1)/2 {
		t.Errorf("%d left", left)
	}
	failing := &fake{t: t, exit: func(int) int { return 1 }}
	var many *FailingError
	if err := c.Run(t.Context(), failing, failing); !errors.As(err, &many) || !strings.Contains(err.Error(), "bad") || len(failing.ran) != maxFailures {
		t.Errorf("%d runs, %v", len(failing.ran), err)
	}
	// Too few to give up: but nothing was measured.
	few := plan()
	few.Runs, few.Approaches = maxFailures-1, few.Approaches[:1]
	c = begin(t, t.TempDir(), few)
	failing.ran = nil
	if err := c.Run(t.Context(), failing, failing); !errors.As(err, &many) || !many.None || many.Report.ExitCode != 1 || !strings.Contains(err.Error(), "bad") {
		t.Errorf("%d runs, %v", len(failing.ran), err)
	}
	one := &fake{t: t, exit: func(n int) int { return n - 1 }}
	if err := c.Run(t.Context(), one, one); err != nil {
		t.Errorf("one has succeeded: %v", err)
	}
	failing.ran = nil // that is the other one, again
	if err := c.Run(t.Context(), failing, failing); err != nil || len(failing.ran) != 1 {
		t.Errorf("%d runs, %v", len(failing.ran), err)
	}
	none := &fake{t: t, exit: func(int) int { return -1 }}
	if err := c.Run(t.Context(), none, none); err == nil || len(none.ran) != 1 {
		t.Errorf("%d runs, %v", len(none.ran), err)
	}
}

// TestBasesOutOfLine: runs whose base power is out of line are made again, twice at
// most, also over several sessions; what they were is kept apart.
func TestBasesOutOfLine(t *testing.T) {
	few := plan()
	few.Approaches = few.Approaches[:2]
	total := len(few.Approaches) * few.Runs
	for _, c := range []struct {
		name  string
		base  func(n int) float64
		again int // runs made again
		odd   int // that are marked in the end
	}{
		{"all alike", func(n int) float64 { return 0.8 + 0.001*float64(n%3) }, 0, 0},
		{"one in the last run's tail", func(n int) float64 {
			if n == 3 {
				return 1.7
			}
			return 0.8
		}, 1, 0},
		{"one that stays so", func(n int) float64 {
			if n == 3 || n > total {
				return 1.7
			}
			return 0.8
		}, 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			camp := begin(t, dir, few)
			f := &fake{t: t, base: c.base}
			if err := camp.Run(t.Context(), f, f); err != nil {
				t.Fatal(err)
			}
			marked := 0
			for _, line := range f.odd {
				if strings.HasSuffix(line, " false") {
					marked++
				}
			}
			if len(f.ran) != total+c.again || marked != c.odd {
				t.Errorf("%d runs, %q", len(f.ran), f.odd)
			}
			if kept := len(files(t, dir)); kept != 2+2*(total+c.again) {
				t.Errorf("%d files: %v", kept, files(t, dir))
			}
			rest := &fake{t: t, base: c.base}
			if err := camp.Run(t.Context(), rest, rest); err != nil || len(rest.ran) > 0 {
				t.Errorf("the next session makes %v, %v", rest.ran, err)
			}
		})
	}
}

// TestRounds: every round has each approach once, so that an interrupted campaign has as many
// runs of each, or one more, and the runs of a round are neighbours.
func TestRounds(t *testing.T) {
	p := plan()
	all := p.order()
	for i := 0; i < len(all); i += len(p.Approaches) {
		seen := make(map[int]bool)
		for _, e := range all[i : i+len(p.Approaches)] {
			seen[e.approach] = true
			if e.n != i/len(p.Approaches)+1 {
				t.Errorf("run %d in round %d", e.n, i/len(p.Approaches)+1)
			}
		}
		if len(seen) != len(p.Approaches) {
			t.Errorf("round %d has %d approaches", i/len(p.Approaches)+1, len(seen))
		}
	}
}

// TestAnotherPlan: what differs is named.
func TestAnotherPlan(t *testing.T) {
	for want, change := range map[string]func(*Plan){
		"":                                 func(p *Plan) { p.Runs = 99 },
		"the URL was http://example.org/a": func(p *Plan) { p.URL = "http://example.org/b" },
		"--seed was 7":                     func(p *Plan) { p.Seed = 8 },
		"algorithm 3 over wlan0, rmnet0 is missing": func(p *Plan) { p.Approaches = slices.Delete(slices.Clone(p.Approaches), 2, 3) },
		"algorithm exec:./mine.py over a, b is new": func(p *Plan) {
			p.Approaches = append(slices.Clip(p.Approaches), Approaches([]string{"exec:./mine.py"}, []string{"off"}, []string{"a", "b"})...)
		},
		"--tail has another value":                              func(p *Plan) { p.Flags = map[string]string{"--tail": "2", "--power": "1"} },
		"--power is missing; --quiet is new; --tail is missing": func(p *Plan) { p.Flags = map[string]string{"--quiet": "1"} },
		"the algorithms or links have another order": func(p *Plan) {
			p.Approaches = slices.Clone(p.Approaches)
			slices.Reverse(p.Approaches)
		},
	} {
		old, now := plan(), plan()
		old.Flags = map[string]string{"--tail": "1", "--power": "1"}
		now.Flags = map[string]string{"--tail": "1", "--power": "1"}
		change(&now)
		if got := strings.Join(old.differences(now), "; "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if a := Approaches([]string{"exec:../x/my policy.py"}, []string{"off"}, []string{"a", "b"}); a[0].Name != "exec-my_policy.py" {
		t.Errorf("a file would be called %q", a[0].Name)
	}
}
