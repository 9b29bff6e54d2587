// Testrun is `make test`: it runs all tests, those of packages that only compute or that
// start whole programs beside those that the race detector watches, and says at the end
// what was skipped, and why.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	// skipsFile names the tests that may be skipped where CI=true, and why.
	skipsFile = ".ci/skips"
	// outDir is where the output of all tests and the list of the slowest ones are left.
	outDir = ".cache/test"
	// leastCoverage is how many percent of the statements of each of covered's packages
	// their own tests have to reach.
	leastCoverage = 85
	module        = "github.com/mlget/mlget/"
)

// covered are the packages in which a mistake costs somebody bytes.
func covered() []string {
	return []string{"internal/fetch", "internal/link", "internal/store", "pkg/scheduler"}
}

// plain are the packages that run without the race detector: those that start whole
// programs, about whose times and memory it tells lies, and those that only compute, in
// which no goroutine is started, and which it makes ten times as slow. Those that wait
// most come first.
func plain() []string {
	return []string{
		"cmd/mlget", "cmd/linklab", "internal/linklab/faults", "internal/sim", "internal/adversary", "pkg/scheduler", "pkg/scheduler/schedtest", "pkg/scheduler/tuning",
		"internal/campaign", "internal/dataset", "internal/deptest", "internal/energy", "internal/engine/accept", "internal/joblist",
		"internal/launch", "internal/linklab/scenario",
		"internal/netrc", "internal/page", "internal/plot", "internal/record", "internal/release", "internal/report", "internal/results",
		"internal/rewrite", "internal/roots", "internal/stats", "internal/sweep", "internal/term", "internal/terms", "internal/testbody",
		"internal/units",
	}
}

// lot is a run of go test.
type lot struct {
	name string
	args []string
}

// lots shares the packages out to two series of runs, which go on side by side: those
// with the race detector, and those without. A test of memory pools is done in either,
// since the race detector has pools forget things.
func lots(packages []string, race bool) [2][]lot {
	watched := []string{"test", "-json", "-vet=off", "-timeout", "15m"}
	alone := append(slices.Clone(watched), "-parallel", "8")
	if race {
		watched = append(watched, "-race")
	}
	var most, counted, plainly, plainlyCounted []string
	for _, p := range plain() { // in this order
		switch {
		case !slices.Contains(packages, module+p): // some are of Linux alone
		case slices.Contains(covered(), p):
			plainlyCounted = append(plainlyCounted, "./"+p)
		default:
			plainly = append(plainly, "./"+p)
		}
	}
	for _, p := range packages {
		p = strings.TrimPrefix(p, module)
		switch {
		case slices.Contains(plain(), p):
		case slices.Contains(covered(), p):
			counted = append(counted, "./"+p)
		default:
			most = append(most, "./"+p)
		}
	}
	series := [2][]lot{
		{{"race", slices.Concat(watched, most)}, {"race-cover", slices.Concat(watched, []string{"-cover"}, counted)}},
		{{"plain", slices.Concat(alone, plainly)}, {"plain-cover", slices.Concat(alone, []string{"-cover"}, plainlyCounted)}},
	}
	if race {
		series[1] = append(series[1], lot{"pools", slices.Concat(alone, []string{"-run", "^TestBacklogsShareMemory$", "./internal/fetch"})})
	}
	return series
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make test:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	allowed, err := readSkips(skipsFile)
	if err != nil {
		return err
	}
	race := canRace(ctx)
	list, err := exec.CommandContext(ctx, "go", "list", "./...").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return err
	}
	results := &results{out: out, coverage: map[string]float64{}}
	if !race {
		results.print("no C compiler: without the race detector\n")
	}
	var wg sync.WaitGroup
	var failures [2]error
	for i, series := range lots(strings.Fields(string(list)), race) {
		wg.Go(func() {
			for _, l := range series {
				failures[i] = errors.Join(failures[i], l.run(ctx, results))
			}
		})
	}
	wg.Wait()
	return errors.Join(errors.Join(failures[:]...), results.finish(allowed, os.Getenv("CI") == "true"))
}

// canRace says whether there is what the race detector needs: a C compiler.
func canRace(ctx context.Context) bool {
	env, err := exec.CommandContext(ctx, "go", "env", "CGO_ENABLED", "CC").Output()
	fields := strings.Fields(string(env))
	if err != nil || len(fields) < 2 || fields[0] != "1" {
		return false
	}
	_, err = exec.LookPath(fields[1])
	return err == nil
}

// run runs a lot and leaves its whole output in outDir.
func (l lot) run(ctx context.Context, r *results) (err error) {
	file, err := os.Create(filepath.Join(outDir, l.name+".json"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	cmd := exec.CommandContext(ctx, "go", l.args...)
	// The race detector would have every program wait for a second at its end.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewReader(io.TeeReader(stdout, file))
	for {
		line, err := lines.ReadBytes('\n')
		r.line(line)
		if err != nil {
			break
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("go %s ...: %w\n%s", strings.Join(l.args[:min(6, len(l.args))], " "), err, stderr.Bytes())
	}
	return nil
}
