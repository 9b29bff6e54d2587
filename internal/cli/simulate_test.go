package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/simulate"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
)

func rehearse(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(append([]string{"simulate"}, args...), console.IO{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), code
}

func TestSimulateTable(t *testing.T) {
	out, errs, code := rehearse(t, "--scenario", "high-speed,random:7", "--algorithm", "naive,3", "--runs", "2")
	if code != exit.OK || errs != "" {
		t.Fatalf("exit %d, %q", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "SCENARIO") {
		t.Fatalf("got:\n%s", out)
	}
	for i, want := range []string{"high-speed  naive", "high-speed  3", "random:7    naive", "random:7    3"} {
		if !strings.HasPrefix(lines[i+1], want) {
			t.Errorf("line %q, want it to begin with %q", lines[i+1], want)
		}
	}
}

func TestSimulateJSON(t *testing.T) {
	out, errs, code := rehearse(t, "--scenario", "always-online", "--algorithm", "3", "--runs", "3", "--size", "20MB", "--json")
	if code != exit.OK || errs != "" {
		t.Fatalf("exit %d, %q", code, errs)
	}
	var results []sim.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 {
		t.Fatalf("%d results, want 3", len(results))
	}
	for i, r := range results {
		if r.Scenario != "always-online" || r.Algorithm != "3" || r.SizeBytes != 20e6 || r.Seed != uint64(i+1) || r.Seconds <= r.BoundSeconds {
			t.Errorf("run %d: %+v", i, r)
		}
	}
	if again, _, _ := rehearse(t, "--scenario", "always-online", "--algorithm", "3", "--runs", "3", "--size", "20MB", "--json"); again != out {
		t.Error("the same rehearsal came out otherwise")
	}
}

func TestSimulateEnergy(t *testing.T) {
	out, errs, code := rehearse(t, "--scenario", "low-speed", "--algorithm", "3", "--size", "100MB",
		"--energy", "off,emtcp,min-energy", "--radio", "rmnet0=lte-2021", "--max-time", "60s", "--json")
	if code != exit.OK || errs != "" {
		t.Fatalf("exit %d, %q", code, errs)
	}
	var results []sim.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	for i, policy := range []string{"off", "emtcp", "min-energy"} {
		e := results[i].Energy
		if e == nil || e.Policy != policy || e.Joules <= 0 || e.Deadline != 60 || results[i].Links[1].Model != "lte-2021" {
			t.Fatalf("%s: %+v of %+v", policy, e, results[i])
		}
		sum := 0.0
		for _, l := range results[i].Links {
			sum += l.Joules
		}
		if d := sum - e.Joules; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: the links took %.6f J, all %.6f", policy, sum, e.Joules)
		}
	}
	if results[2].Energy.Joules >= results[0].Energy.Joules {
		t.Errorf("min-energy took %.2f J, both links %.2f J", results[2].Energy.Joules, results[0].Energy.Joules)
	}
	out, _, code = rehearse(t, "--scenario", "low-speed", "--algorithm", "3", "--size", "20MB", "--energy", "min-energy")
	if code != exit.OK || !strings.Contains(out, "MODELLED") || !strings.Contains(out, "min-energy") {
		t.Errorf("exit %d:\n%s", code, out)
	}
}

// TestSimulateInterrupted: the first interrupt ends a rehearsal, whatever it is at, with a
// word and no hint at a state that it has not.
func TestSimulateInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe() // never read, so that writing does not end by itself
		defer reader.Close()        //nolint:errcheck // it never fails
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, engine.ErrInterrupted)
		defer cancel()
		cmd := simulate.NewCommand(console.IO{Out: writer})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{"--algorithm", "3"})
		err := cmd.ExecuteContext(ctx)
		if code, hint := exit.Classify(err); code != exit.Interrupted || hint != "" {
			t.Errorf("exit %d, %v, hint %q", code, err, hint)
		}
	})
}

func TestSimulateMistakes(t *testing.T) {
	for _, args := range [][]string{
		{"--scenario", "no-such"},
		{"--scenario", "random:x"},
		{"--algorithm", "9"},
		{"--runs", "0"},
		{"--energy", "some"},
		{"--radio", "wlan0=semaphore"},
		{"--radio", "eth9=wifi"},
		{"--max-time", "-1s"},
		{"--per-connection", "NaN"},
		{"--per-connection", "20000"},
		{"--size", "none"},
		{"--overlap", "2"},
		{"--bdp-padding", "7", "--algorithm", "3"},
		{"-p", "65"},
		{"argument"},
		{"--scenario", "files:x"},
		{"--files", "books"},
		{"--files", "0@1K"},
		{"--files", "3@"},
		{"--files", "3@2K-1K"},
		{"--files", "html", "--mode", "fast"},
		{"--files", "html", "-j", "-1"},
		{"--files", "html", "--algorithm", "3,2"},
		{"--files", "html", "--energy", "off,emtcp"},
		{"--scenario", "files:1", "--mode", "fast"},
		{"--scenario", ""},
		{"--algorithm", ""},
		{"--energy", ""},
		{"--files", ""},
		{"--scenario", "files:1", "--mode", ""},
		{"--scenario", "files:1", "--mode", "hat,eht"},
		{"--scenario", "files:1", "-j", "4"},
		{"--scenario", "files:1", "--energy", "min-energy"},
		{"--scenario", "files:1", "--runs", "3"},
		{"--scenario", "files:1,high-speed"},
	} {
		if _, errs, code := rehearse(t, args...); code != exit.Usage || !strings.HasPrefix(errs, "mlget: ") {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
	if _, errs, _ := rehearse(t, "--files", "html", "--mode", "fast"); !strings.Contains(errs, "there are hat, eht, lowe, manual, untuned") {
		t.Errorf("%q does not say what modes there are", errs)
	}
	for _, args := range [][]string{{"--algorithm", "9"}, {"--files", "html", "--algorithm", "9"}} {
		if _, errs, _ := rehearse(t, args...); !strings.Contains(errs, "there are single, naive") {
			t.Errorf("%v: %q does not say what there is", args, errs)
		}
	}
}

// TestSimulateNoFile: a scenario that cannot be read is a failure of a file; that there is
// none of a name, or that it is none, is a mistake.
func TestSimulateNoFile(t *testing.T) {
	away := filepath.Join(t.TempDir(), "away")
	for _, more := range [][]string{nil, {"--files", "html/2"}} {
		_, errs, code := rehearse(t, append(more, "--scenario", away)...)
		if code != exit.File || !strings.Contains(errs, "mlget: hint: ") {
			t.Errorf("%v: exit %d, %q", more, code, errs)
		}
	}
}

// TestSimulateFiles: jobs of more than 8 s, as HAT plans nothing for shorter ones.
func TestSimulateFiles(t *testing.T) {
	out, errs, code := rehearse(t, "--scenario", "austin,austin-dual", "--files", "html/1500,150@1MB-2MB", "--mode", "hat,lowe", "--json")
	if code != exit.OK || errs != "" {
		t.Fatalf("exit %d, %q", code, errs)
	}
	var results []sim.Result
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 8 {
		t.Fatalf("%d results, want 8", len(results))
	}
	for i, r := range results {
		mode := []string{"hat", "lowe"}[i%2]
		set, files := "html/1500", 1500
		if i/2%2 == 1 {
			set, files = "150@1MB-2MB", 150
		}
		if r.Batch == nil || r.Batch.Mode != mode || r.Batch.Name != set || r.Batch.Files != files || r.Efficiency <= 0.2 || len(r.Batch.Changes) == 0 {
			t.Errorf("run %d: %+v, %+v", i, r, r.Batch)
		}
		if lone := len(r.Links) > 1 && r.Links[1].Bytes == 0; lone != (i >= 4 && mode == "lowe") {
			t.Errorf("run %d: links %+v", i, r.Links)
		}
	}
}

// TestSimulateFilesOfAll: all stands for all scenarios whatever is downloaded.
func TestSimulateFilesOfAll(t *testing.T) {
	out, errs, code := rehearse(t, "--scenario", "all", "--files", "2@1K")
	if lines := strings.Count(out, "\n"); code != exit.OK || errs != "" || lines != 1+len(scenario.Names()) {
		t.Errorf("exit %d, %q, %d lines", code, errs, lines)
	}
}

func TestSimulateByHand(t *testing.T) {
	out, errs, code := rehearse(t, "--scenario", "sydney", "--files", "html/100", "--mode", "manual", "-j", "1,4,16", "--receive-buffer", "471KB", "--per-connection", "0")
	if code != exit.OK || errs != "" {
		t.Fatalf("exit %d, %q", code, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "SCENARIO") {
		t.Fatalf("got:\n%s", out)
	}
	last := 1e9
	for i, line := range lines[1:] {
		f := strings.Fields(line)
		seconds, err := strconv.ParseFloat(f[4], 64)
		if err != nil || f[3] != []string{"1", "4", "16"}[i] || seconds >= last {
			t.Errorf("line %q", line)
		}
		last = seconds
	}
}

// TestSimulateConnections: what is said of connections holds for a single file, too, and
// beside a radio that --radio names.
func TestSimulateConnections(t *testing.T) {
	links := filepath.Join(t.TempDir(), "links")
	if err := os.WriteFile(links, []byte("link a,down=80,rtt=16\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(flags ...string) (r sim.Result) {
		t.Helper()
		args := []string{"--scenario", links, "--algorithm", "single", "--size", "20MB", "--radio", "a=wifi", "--json"}
		out, errs, code := rehearse(t, append(args, flags...)...)
		if code != exit.OK || errs != "" {
			t.Fatalf("%v: exit %d, %q", flags, code, errs)
		}
		var runs []sim.Result
		if err := json.Unmarshal([]byte(out), &runs); err != nil {
			t.Fatal(err)
		}
		return runs[0]
	}
	plain := run()
	// 16 ms for each 16 KB at least.
	if got := run("--receive-buffer", "16KB").Seconds; got < 20 || plain.Seconds > 3 {
		t.Errorf("it takes %.2f s, %.2f with a receive buffer of 16 KB", plain.Seconds, got)
	}
	// A connection at work draws it for as long as the file takes.
	more := run("--per-connection", "1000").Energy.Joules - plain.Energy.Joules
	if more < 0.9*plain.Seconds || more > 1.1*plain.Seconds {
		t.Errorf("1 W for %.2f s is %.2f J", plain.Seconds, more)
	}
}

func TestSimulateJob(t *testing.T) {
	for _, args := range [][]string{{"--scenario", "files:11"}, {"--scenario", "files:11", "--mode", "untuned"}, {"--scenario", "files:11", "--mode", "manual", "-j", "4", "-p", "1"}} {
		out, errs, code := rehearse(t, args...)
		if code != exit.OK || errs != "" || !strings.Contains(out, "files:11") {
			t.Errorf("%v: exit %d, %q:\n%s", args, code, errs, out)
		}
	}
}
