package bench

import (
	"strings"
	"testing"
)

// TestProcessorPlan: every cell has the same three programs, those for many files where it has
// many, and bodies of its own size.
func TestProcessorPlan(t *testing.T) {
	c := Config{
		Options: Options{Processor: true, Scenarios: processorScenarios(), Rounds: 2, Size: 100e6, Seed: 1},
		Tools:   mustParse(t, "mlget,curl-best,aria2-2"),
	}
	if err := c.checkScenarios(); err != nil {
		t.Fatal(err)
	}
	plan := c.Plan()
	if want := 2*3*(len(processorCells())-1) + 5*3; len(plan) != want { // over loopback five times at least
		t.Fatalf("%d jobs, want %d", len(plan), want)
	}
	for _, j := range plan {
		tool, want := c.tool(j), int64(100e6)
		switch j.Scenario {
		case "one-8":
			want = 10e6
		case "one-300":
			want = 300e6
		case loopback:
			want = 1e9
		case "sydney":
			want = 0
		}
		if got := c.bytes(j); tool.Name != j.Tool || tool.Many != (j.Files != "") || want > 0 && got != want || want == 0 && (got < 70e6 || got > 90e6) {
			t.Errorf("%+v: tool %+v, %d bytes", j, tool, got)
		}
	}
	if _, _, err := c.Estimate(plan); err != nil {
		t.Error(err)
	}
	c.Scenarios = []string{"one-8", "high-speed"}
	if c.checkScenarios() == nil {
		t.Error("takes a scenario of which it knows no size")
	}
}

// TestProcessorReport: ratios, goals and counts of made-up runs.
func TestProcessorReport(t *testing.T) {
	h := testHeader(t)
	h.Processor, h.Scenarios, h.Tools, h.Rounds = true, []string{"one-82", loopback}, []string{"mlget", "curl-best"}, 1
	run := func(tool string, cpu float64, switches, reads int64) Result {
		return Result{Job: Job{"one-82", "", Clear, tool, 0}, Seconds: 10, CPU: cpu, Switches: switches, Reads: reads}
	}
	local := func(tool string, cpu float64) Result {
		return Result{Job: Job{loopback, "", Clear, tool, 0}, Seconds: 1, CPU: cpu, Switches: 100}
	}
	text := Report(h, []Result{
		run("mlget", 0.3, 4000, 1000), run("curl-best", 0.4, 8000, 0), local("mlget", 0.6), local("curl", 0.8),
	})
	for _, want := range []string{
		"| one link of 82 Mbit/s, HTTP/1.1 in clear | 0.75 | ≤ 0.7 | 0.50 | ≤ 0.4 | 1.00 |",
		"| unshaped loopback, HTTP/1.1 in clear | 0.75 | ≤ 0.83 | 1.00 | – | 1.00 |",
		"| curl | 1.00 | 0.800 | 0.80 | 100 | 100 | – | – | 0.58 | 0 | 1 |",
		"| mlget | 10.00 | 0.300 | 3.00 | 4000 | 400 | 1000 | 98 | 1.01 | 0 | 1 |",
		"| curl-best | 10.00 | 0.400 | 4.00 | 8000 | 800 | – | – | 1.88 | 0 | 1 |",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}
