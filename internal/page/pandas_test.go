package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/study"
)

// TestPandas runs the examples of docs/report.md, and compares what they print with the
// study.
func TestPandas(t *testing.T) {
	python := os.Getenv("MLGET_PYTHON") // one that has pandas
	if python == "" {
		python = "python3"
	}
	if err := exec.Command(python, "-c", "import pandas").Run(); err != nil {
		t.Skip("pandas is not installed")
	}
	doc, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples", len(examples))
	}
	s := small(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runs.csv"), []byte(written(t, s, ".csv")), 0o600); err != nil {
		t.Fatal(err)
	}
	m := made{algorithm: "3", links: []string{"wlan0", "rmnet0"}, mbps: []float64{70, 65}, bytes: 10e6, steps: 10}
	m.write(t, filepath.Join(dir, "run.jsonl"))
	run := func(program []byte) string {
		t.Helper()
		cmd := exec.Command(python, "-c", string(program))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	table := run(examples[0][1])
	for _, a := range s.Approaches {
		value := func(name string) string { return fmt.Sprintf("%.3f", a.Value(name).Median) }
		row := regexp.MustCompile(`(?m)^` + a.Name + ` +(.*)$`).FindStringSubmatch(table)
		if row == nil {
			t.Errorf("no row of %s in\n%s", a.Name, table)
			continue
		}
		want := []string{value(study.Seconds), value(study.Throughput), value(study.EnergyDynamic), "3"}
		if got := strings.Fields(row[1]); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", a.Name, got, want)
		}
	}
	lines := strings.Split(strings.TrimSpace(run(examples[1][1])), "\n")
	if !regexp.MustCompile(`rmnet0 +wlan0`).MatchString(lines[0]) || len(lines) < 5 {
		t.Fatalf("%q", lines)
	}
	// The last sample has all that came over both: 10 MB each.
	if last := strings.Fields(lines[len(lines)-1]); len(last) != 3 || !strings.HasPrefix(last[1], "9") && !strings.HasPrefix(last[1], "1000") {
		t.Errorf("%v", last)
	}
}
