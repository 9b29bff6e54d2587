package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
)

// tried are the results of jobs of 100 MB: by tool the seconds and the joules.
func tried(t *testing.T, jobs map[string][2]float64) (Header, []Result) {
	t.Helper()
	c, err := flags{files: []string{"image"}, scenarios: []string{"sydney"}, tools: []string{"mlget", "mlget-j1", "mlget-j8", "mlget-j16", "mlget-j32", "wget"}, runs: 1, receiveBuffer: "800K"}.config()
	if err != nil {
		t.Fatal(err)
	}
	h := c.header(inventory{}, flags{})
	var results []Result
	for _, tool := range c.Tools {
		j, ok := jobs[tool.Name]
		if !ok {
			continue
		}
		results = append(results, Result{
			Job: Job{Scenario: "sydney", Files: "image", Transport: Clear, Tool: tool.Name}, Seconds: j[0],
			Energy: &linklab.Energy{Total: linklab.Joules{Dynamic: j[1]}},
		})
	}
	return h, results
}

// Full is the least number of connections that reaches 99 % of the best.
func TestFullIsTheLeastNumberThatReachesTheBest(t *testing.T) {
	h, results := tried(t, map[string][2]float64{
		"mlget": {10, 25}, "mlget-j1": {80, 60}, "mlget-j8": {12, 20}, "mlget-j16": {10.05, 30}, "mlget-j32": {10, 45}, "wget": {82, 50},
	})
	all := h.curves(results)
	if len(all) != 1 || len(all[0].points) != 4 {
		t.Fatalf("%+v", all)
	}
	c := &all[0]
	if full := c.full(); full.connections != 16 {
		t.Errorf("full: %+v", full)
	}
	if r := c.mlget.joules / c.wget.joules; math.Abs(r-0.5) > 1e-9 || c.wget.mbps <= 0 {
		t.Errorf("mlget %+v, wget %+v", c.mlget, c.wget)
	}
	var w writer
	w.connections(h, results)
	for _, want := range []string{"| 16, full |", "| mlget |", "-17 %", "-50 %"} {
		if !strings.Contains(w.b.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, w.b.String())
		}
	}
}

func TestFigureOfConnections(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.svg")
	h, results := tried(t, map[string][2]float64{"mlget-j1": {80, 60}, "mlget-j8": {12, 20}, "wget": {82, 50}})
	if err := writeFigure(h, results, name); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(name)
	if err != nil || !strings.Contains(string(svg), "J per 100 MB") || !strings.Contains(string(svg), "image, sydney") {
		t.Errorf("%v: %.300s", err, svg)
	}
	h, results = tried(t, map[string][2]float64{"mlget": {80, 60}, "wget": {82, 50}})
	if err := writeFigure(h, results, name); err == nil {
		t.Error("a figure of nothing")
	}
}
