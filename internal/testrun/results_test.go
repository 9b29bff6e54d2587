package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What go test -json says of a package with a test of each kind.
const said = `{"Action":"start","Package":"github.com/mlget/mlget/internal/a"}
{"Action":"run","Package":"github.com/mlget/mlget/internal/a","Test":"TestGood"}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Test":"TestGood","Output":"    a_test.go:3: nobody wants to know\n"}
{"Action":"pass","Package":"github.com/mlget/mlget/internal/a","Test":"TestGood","Elapsed":2}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Test":"TestPoor","Output":"=== RUN   TestPoor\n"}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Test":"TestPoor","Output":"    a_test.go:7: needs root\n"}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Test":"TestPoor","Output":"--- SKIP: TestPoor (0.00s)\n"}
{"Action":"skip","Package":"github.com/mlget/mlget/internal/a","Test":"TestPoor","Elapsed":0}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Test":"TestBad","Output":"    a_test.go:9: 1, want 2\n"}
{"Action":"fail","Package":"github.com/mlget/mlget/internal/a","Test":"TestBad","Elapsed":1}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Test":"TestHangs","Output":"panic: test timed out\n"}
{"Action":"output","Package":"github.com/mlget/mlget/internal/a","Output":"exit status 1\n"}
{"Action":"fail","Package":"github.com/mlget/mlget/internal/a","Elapsed":4}
{"Action":"output","Package":"github.com/mlget/mlget/internal/fetch","Output":"coverage: 97.0% of statements\n"}
{"Action":"pass","Package":"github.com/mlget/mlget/internal/fetch","Elapsed":5}
{"Action":"output","Package":"github.com/mlget/mlget/internal/store","Output":"coverage: 84.9% of statements\n"}
{"Action":"pass","Package":"github.com/mlget/mlget/internal/store","Elapsed":5}
{"Action":"output","Package":"github.com/mlget/mlget/internal/link","Output":"coverage: 85.0% of statements\n"}
{"Action":"pass","Package":"github.com/mlget/mlget/internal/link","Elapsed":5}
no event
`

func finished(t *testing.T, ci bool, allowed ...allowance) (printed, wrong string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := &results{out: &out, coverage: map[string]float64{}}
	for line := range strings.Lines(said) {
		r.line([]byte(line))
	}
	if err := r.finish(allowed, ci); err != nil {
		wrong = err.Error()
	}
	return out.String(), wrong
}

func TestWhatFailsIsPrinted(t *testing.T) {
	printed, _ := finished(t, false)
	for _, want := range []string{
		"a_test.go:9: 1, want 2\n", "panic: test timed out\n", "exit status 1\nFAIL  internal/a 4.0 s\n", "ok    internal/fetch 5.0 s\n", "no event\n",
		"skipped: internal/a TestPoor: needs root\n", "internal/fetch: its tests reach 97.0 % of the statements\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	if strings.Contains(printed, "nobody wants to know") {
		t.Errorf("the output of a test that passed:\n%s", printed)
	}
	slowest, err := os.ReadFile(filepath.Join(outDir, "slowest.txt"))
	if err != nil || !strings.HasPrefix(string(slowest), "   2.00 s  internal/a TestGood\n   1.00 s  internal/a TestBad\n") {
		t.Errorf("%s, %v", slowest, err)
	}
}

func TestLowCoverageIsWrong(t *testing.T) {
	_, wrong := finished(t, false)
	want := "internal/store: its tests reach 84.9 % of the statements, less than 85 %\npkg/scheduler: no coverage was measured"
	if wrong != want {
		t.Errorf("%q, want %q", wrong, want)
	}
}

func TestSkipsAreWrongInCI(t *testing.T) {
	const complaint = "internal/a TestPoor was skipped"
	for _, c := range []struct {
		ci      bool
		allowed []allowance
		wrong   bool
	}{
		{false, nil, false},
		{true, nil, true},
		{true, []allowance{{"internal/a", "TestGood"}, {"internal/b", "TestPoor"}}, true},
		{true, []allowance{{"internal/a", "TestPoor"}}, false},
		{true, []allowance{{"internal/a", "TestPo*"}}, false},
	} {
		if _, wrong := finished(t, c.ci, c.allowed...); strings.Contains(wrong, complaint) != c.wrong {
			t.Errorf("%+v: %q", c, wrong)
		}
	}
}

func TestReadSkips(t *testing.T) {
	name := filepath.Join(t.TempDir(), "skips")
	for text, want := range map[string]bool{
		"# a comment\n\ninternal/a TestPoor needs a phone\n": true,
		"internal/a TestPoor\n":                              false, // no reason
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readSkips(name)
		if (err == nil) != want || want && (len(all) != 1 || all[0] != allowance{"internal/a", "TestPoor"}) {
			t.Errorf("%q: %v, %v", text, all, err)
		}
	}
}

// Each package is in one lot, and no test is left out.
func TestLots(t *testing.T) {
	packages := []string{
		module + "internal/fetch", module + "internal/engine", module + "internal/sim", module + "cmd/mlget", module + "pkg/scheduler",
	}
	for _, race := range []bool{true, false} {
		seen := map[string]int{}
		for _, series := range lots(packages, race) {
			for _, l := range series {
				if slices.Contains(l.args, "-run") {
					continue
				}
				for _, a := range l.args {
					seen[strings.TrimPrefix(a, "./")]++
				}
			}
		}
		for _, p := range packages {
			if n := seen[strings.TrimPrefix(p, module)]; n != 1 {
				t.Errorf("race %v: %s is in %d lots", race, p, n)
			}
		}
		if (seen["-race"] == 2) != race || seen["-cover"] != 2 {
			t.Errorf("race %v: %v", race, seen)
		}
	}
}
