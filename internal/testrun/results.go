package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// testEvent is a line of go test -json: see go doc test2json.
type testEvent struct {
	Action     string
	Package    string
	ImportPath string // of a build
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// results collects what several runs of go test tell.
type results struct {
	mu       sync.Mutex
	out      io.Writer
	open     map[[2]string]*strings.Builder // output of tests that have not passed, by package and test
	skipped  []skip
	took     []timed
	coverage map[string]float64 // percent, by package
}

type skip struct{ pkg, test, why string }

type timed struct {
	seconds float64
	name    string
}

// print prints; whoever cannot be told learns it by the exit status.
func (r *results) print(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

// line takes a line of go test -json. What is no event is printed.
func (r *results) line(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e testEvent
	if len(text) == 0 {
		return
	}
	if json.Unmarshal(text, &e) != nil {
		r.print("%s", text)
		return
	}
	e.Package = strings.TrimPrefix(e.Package, module)
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.print("%s", e.Output)
	case "output":
		if r.open == nil {
			r.open = map[[2]string]*strings.Builder{}
		}
		if r.open[key] == nil {
			r.open[key] = new(strings.Builder)
		}
		r.open[key].WriteString(e.Output)
	case "pass", "skip", "fail":
		r.ended(e, key)
	}
}

// ended takes the end of a test or of a package.
func (r *results) ended(e testEvent, key [2]string) {
	var text string
	if b := r.open[key]; b != nil {
		text = b.String()
		delete(r.open, key)
	}
	if e.Test != "" {
		r.took = append(r.took, timed{e.Elapsed, e.Package + " " + e.Test})
		switch e.Action {
		case "fail":
			r.print("%s: %s", e.Package, text)
		case "skip":
			r.skipped = append(r.skipped, skip{e.Package, e.Test, reason(text)})
		}
		return
	}
	if m := coverageLine().FindStringSubmatch(text); m != nil && slices.Contains(covered(), e.Package) {
		percent, _ := strconv.ParseFloat(m[1], 64) // digits and a point
		r.coverage[e.Package] = max(percent, r.coverage[e.Package])
	}
	switch e.Action {
	case "pass":
		r.print("ok    %s %.1f s\n", e.Package, e.Elapsed)
	case "fail":
		// Tests that were running are those that it hung or crashed in.
		for k, b := range r.open {
			if k[0] == e.Package {
				r.print("%s: %s", e.Package, b.String())
				delete(r.open, k)
			}
		}
		r.print("%sFAIL  %s %.1f s\n", text, e.Package, e.Elapsed)
	}
}

func coverageLine() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^coverage: ([0-9.]+)% of statements$`)
}

// reason is what a test that was skipped says of it, in one line.
func reason(output string) string {
	var said []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		said = append(said, regexp.MustCompile(`^\w+\.go:\d+: `).ReplaceAllString(line, ""))
	}
	return strings.Join(said, " ")
}

// finish prints what is to be said at the end, and says what is wrong beside tests that
// failed.
func (r *results) finish(allowed []allowance, ci bool) error {
	var wrong []error
	for _, p := range covered() {
		percent, measured := r.coverage[p]
		switch {
		case !measured:
			wrong = append(wrong, fmt.Errorf("%s: no coverage was measured", p))
		case percent < leastCoverage:
			wrong = append(wrong, fmt.Errorf("%s: its tests reach %.1f %% of the statements, less than %d %%", p, percent, leastCoverage))
		default:
			r.print("%s: its tests reach %.1f %% of the statements\n", p, percent)
		}
	}
	slices.SortFunc(r.skipped, func(a, b skip) int { return cmp.Or(cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test)) })
	for _, s := range r.skipped {
		r.print("skipped: %s %s: %s\n", s.pkg, s.test, s.why)
		if ci && !slices.ContainsFunc(allowed, s.is) {
			wrong = append(wrong, fmt.Errorf("%s %s was skipped, and %s does not allow that", s.pkg, s.test, skipsFile))
		}
	}
	slices.SortStableFunc(r.took, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	var slowest strings.Builder
	for _, t := range r.took[:min(50, len(r.took))] {
		fmt.Fprintf(&slowest, "%7.2f s  %s\n", t.seconds, t.name)
	}
	return errors.Join(append(wrong, os.WriteFile(filepath.Join(outDir, "slowest.txt"), []byte(slowest.String()), 0o644))...)
}

// allowance is a test that may be skipped, or a pattern of such (path.Match).
type allowance struct{ pkg, test string }

func (s skip) is(a allowance) bool {
	is, err := path.Match(a.test, s.test)
	return err == nil && is && s.pkg == a.pkg
}

// readSkips reads lines of a package, a test and the reason why it may be skipped; a
// line that begins with # is a comment.
func readSkips(name string) ([]allowance, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	var all []allowance
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s: %q is no package, test and reason", name, lines.Text())
		}
		all = append(all, allowance{fields[0], fields[1]})
	}
	return all, lines.Err()
}
