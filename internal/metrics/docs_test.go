package metrics

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event/eventtest"
)

// dashboard is as much of Grafana's JSON as has expressions.
type dashboard struct {
	Title  string
	Panels []struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana/mlget.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDocsNameMetrics: the dashboard, the alerts and the manual name no metric
// that there is not, and together all that there are.
func TestDocsNameMetrics(t *testing.T) {
	families := gather(t, after(append(powers(), eventtest.TwoLinks()...)))
	queue := New("1.2.3", "go1.99")
	queue.ShowJobs(counts{"active": 1})
	maps.Copy(families, gather(t, queue))
	maps.Copy(families, parse(t, proxyPage(t, "")))
	named := map[string]bool{}
	for _, file := range []string{"grafana/mlget.json", "prometheus/alerts.yml", "metrics.md"} {
		text, err := os.ReadFile(filepath.Join("../../docs", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bmlget_[a-z_]+`).FindAllString(string(text), -1) {
			base := strings.TrimSuffix(name, "_bucket")
			if families[base] == nil {
				t.Errorf("%s: there is no %s", file, name)
			}
			named[base] = named[base] || file == "metrics.md"
		}
	}
	for name := range families {
		if !named[name] {
			t.Errorf("metrics.md does not tell of %s", name)
		}
	}
}

// TestDashboard: panels do not overlap, and Prometheus can read what they ask.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s lies over %q at %d, %d", p.Title, other, x, y)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not there: apt-get install prometheus")
	}
	replace := strings.NewReplacer("$instance", ".+", "$link", ".+", "$__rate_interval", "1m")
	rules := []any{}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			rules = append(rules, map[string]string{"record": "x", "expr": replace.Replace(target.Expr)})
		}
	}
	text, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "rules.yml") // JSON is YAML
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "check", "rules", "--lint=none", name).CombinedOutput()
	if err != nil || slices.Equal(out, nil) {
		t.Errorf("%v: %s", err, out)
	}
}
