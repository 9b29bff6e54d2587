package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
)

// TestBuildsTakeTurns: the pairs of a scenario are in the order ABBA.
func TestBuildsTakeTurns(t *testing.T) {
	program := filepath.Join(t.TempDir(), "mlget")
	if err := os.WriteFile(program, []byte("one"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := flags{against: program, seed: 3, runs: 4}.config()
	// printf one | sha256sum
	if err != nil || c.Against != "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed" || len(c.Scenarios) != 4 {
		t.Fatalf("%+v, %v", c, err)
	}
	order := map[string]string{}
	for _, j := range c.Plan() {
		order[j.Scenario] += j.Tool[:1]
	}
	for _, s := range c.Scenarios {
		if order[s] != "maammaam" {
			t.Errorf("%s: %s", s, order[s])
		}
	}
	_, err = (flags{against: filepath.Dir(program)}).config()
	if hint, ok := errors.AsType[*linklab.HintError](err); !ok || !strings.HasPrefix(err.Error(), "--against: ") || hint.Hint == "" {
		t.Error(err)
	}
}

// TestBuildsAreComparedInPairs: a pair's links are its own, so that ratios are of the same
// round and scenario; a run that failed leaves its pair out.
func TestBuildsAreComparedInPairs(t *testing.T) {
	h := testHeader(t)
	h.Scenarios, h.Tools, h.Rounds, h.TLS = []string{"high-speed", "low-speed"}, []string{"mlget", otherBuild}, 4, false
	h.Against = "def"
	var results []Result
	for round, ratio := range []float64{1.01, 0.99, 1.02, 1.1} {
		for i, s := range h.Scenarios {
			seconds, delta := float64(10*(1+i)+round), 0.2
			results = append(results,
				Result{Job: Job{s, "", Clear, "mlget", round}, Seconds: seconds * ratio, CPU: 0.5, PeakRSS: 30e6, LinkDelta: &delta},
				Result{Job: Job{s, "", Clear, otherBuild, round}, Seconds: seconds, CPU: 1, PeakRSS: 20e6})
		}
	}
	results[len(results)-1].Failure = "exit status 1"
	text := Report(h, results)
	for _, want := range []string{
		"| high-speed, http | 1.0150 | 0.9900 to 1.1000 | 0.500 | 0.5000 to 0.5000 | 1.500 | 0.200 | – | 4 |",
		"| low-speed, http | 1.0100 | 0.9900 to 1.0200 | 0.500 | 0.5000 to 0.5000 | 1.500 | 0.200 | – | 3 |",
		"| 0.500 | 0.5000 to 0.5000 | 1.500 | 0.200 | – | 7 |",
		"- against: exit status 1 (1 of 4)",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if h.Against = h.Build; !strings.Contains(Report(h, results), "noise") || strings.Contains(text, "noise") {
		t.Error("noise is not told apart from a difference")
	}
}
