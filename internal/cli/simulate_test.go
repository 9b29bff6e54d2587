package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/sim"
)

func simulate(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Main(append([]string{"simulate"}, args...), IO{In: strings.NewReader(""), Out: &o, Err: &e})
	return o.String(), e.String(), code
}

func TestSimulateTable(t *testing.T) {
	out, errs, code := simulate(t, "--scenario", "high-speed,random:7", "--algorithm", "naive,3", "--runs", "2")
	if code != exitOK || errs != "" {
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
	out, errs, code := simulate(t, "--scenario", "always-online", "--algorithm", "3", "--runs", "3", "--size", "20MB", "--json")
	if code != exitOK || errs != "" {
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
	if again, _, _ := simulate(t, "--scenario", "always-online", "--algorithm", "3", "--runs", "3", "--size", "20MB", "--json"); again != out {
		t.Error("the same rehearsal came out otherwise")
	}
}

func TestSimulateEnergy(t *testing.T) {
	out, errs, code := simulate(t, "--scenario", "low-speed", "--algorithm", "adaptive", "--size", "100MB",
		"--energy", "off,emtcp,min-energy", "--radio", "rmnet0=lte-2021", "--max-time", "60s", "--json")
	if code != exitOK || errs != "" {
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
	out, _, code = simulate(t, "--scenario", "low-speed", "--algorithm", "adaptive", "--size", "20MB", "--energy", "min-energy")
	if code != exitOK || !strings.Contains(out, "MODELLED") || !strings.Contains(out, "min-energy") {
		t.Errorf("exit %d:\n%s", code, out)
	}
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
		{"--size", "none"},
		{"--overlap", "2"},
		{"--bdp-padding", "7", "--algorithm", "9"},
		{"argument"},
	} {
		if _, errs, code := simulate(t, args...); code != exitUsage || !strings.HasPrefix(errs, "mlget: ") {
			t.Errorf("%v: exit %d, %q", args, code, errs)
		}
	}
}
