package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/internal/results"
)

// TestReport holds the whole text against files.
func TestReport(t *testing.T) {
	golden(t, "testdata/results.jsonl", "testdata/report.md")
	golden(t, "testdata/energy.jsonl", "testdata/energy.md")
}

func golden(t *testing.T, from, to string) {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	h, done, _, err := results.Read[Header, Result](f)
	if err != nil {
		t.Fatal(err)
	}
	goldentest.File(t, to, []byte(Report(h, done)))
}

func run1(tool string, round int, seconds float64, failure string) Result {
	return Result{Job: Job{"x", "", Clear, tool, round}, Bound: 9, Seconds: seconds, Failure: failure}
}

func TestRatio(t *testing.T) {
	ours := []Result{run1("mlget", 0, 9, ""), run1("mlget", 1, 10, ""), run1("mlget", 2, 12, "")}
	for _, c := range []struct {
		theirs []Result
		want   string
	}{
		{[]Result{run1("b", 0, 10, ""), run1("b", 1, 20, ""), run1("b", 2, 12, "")}, "0.900"},
		// By round, not by order.
		{[]Result{run1("b", 2, 24, ""), run1("b", 1, 20, ""), run1("b", 0, 18, "")}, "0.500"},
		{[]Result{run1("b", 1, 20, "")}, "0.500"},
		{[]Result{run1("b", 0, 90, "no end in 90 s"), run1("b", 1, 100, "no end in 100 s"), run1("b", 2, 12, "")}, "≤ 0.100"},
		{[]Result{run1("b", 0, 1, "wrong hash"), run1("b", 1, 20, "")}, "0.500"},
		{[]Result{run1("b", 7, 20, "")}, none},
		{nil, none},
	} {
		if got := ratio(ours, c.theirs); got != c.want {
			t.Errorf("%v: %s, want %s", c.theirs, got, c.want)
		}
	}
	failed := []Result{run1("mlget", 0, 9, "wrong hash")}
	if got := ratio(failed, []Result{run1("b", 0, 10, "")}); got != none {
		t.Errorf("a failed run of ours counts as %s", got)
	}
}

func TestFailedRunsAreTheSlowest(t *testing.T) {
	columns := testHeader(t).timeColumns()
	cells := cellsOf([]Result{run1("a", 0, 10, ""), run1("a", 1, 1, "wrong hash"), run1("a", 2, 12, "")}, columns)
	if cells[1] != "12.00" || cells[3] != "0.750" || cells[len(cells)-1] != "2 of 3" {
		t.Errorf("%q", cells)
	}
	cells = cellsOf([]Result{run1("a", 0, 10, ""), run1("a", 1, 1, "wrong hash"), run1("a", 2, 1, "wrong hash")}, columns)
	if cells[1] != none || cells[3] != "0.000" || cells[len(cells)-1] != "1 of 3" {
		t.Errorf("%q", cells)
	}
}

func TestReportNamesNoPlace(t *testing.T) {
	h := testHeader(t)
	h.Scenarios = []string{"/home/somebody/secret/my.txt"}
	r := run1("axel", 0, 3, "exit status 1")
	r.Scenario, r.Detail = h.Scenarios[0], "/home/somebody: no"
	text := Report(h, []Result{r})
	if strings.Contains(text, "somebody") || !strings.Contains(text, "## my.txt") {
		t.Errorf("%s", text)
	}
}
