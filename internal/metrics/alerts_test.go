package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// firing gives the alerts of docs/prometheus that promtool says fire twenty minutes
// after a textfile was written for the last time by a run of those events, or that
// fire while it goes on being written.
func firing(t *testing.T, events []event.Event, written bool) (alerts []string) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not there: apt-get install prometheus")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "mlget.prom")
	if err := WriteFile(file, after(events)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	type series struct {
		Series string `json:"series"`
		Values string `json:"values"`
	}
	var input []series
	add := func(name, labels, values string) {
		input = append(input, series{fmt.Sprintf(`%s{instance="phone",job="node"%s}`, name, labels), values})
	}
	for name, family := range parse(t, text) {
		for _, m := range family.GetMetric() {
			if m.GetHistogram() != nil {
				continue // no alert is of one
			}
			var labels string
			for _, l := range m.GetLabel() {
				labels += fmt.Sprintf(`,%s=%q`, l.GetName(), l.GetValue())
			}
			value := m.GetGauge().GetValue() + m.GetCounter().GetValue()
			values := fmt.Sprintf("%vx80", value)
			if math.IsNaN(value) { // which promtool cannot repeat
				values = strings.Repeat("NaN ", 80)
			}
			add(name, labels, values)
		}
	}
	mtime := "0x80" // promtool's time begins at 0
	if written {
		mtime = "0+15x80"
	}
	add("node_textfile_mtime_seconds", `,file="/var/lib/node_exporter/mlget.prom"`, mtime)
	rules, err := filepath.Abs("../../docs/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var wanted []any
	for _, name := range []string{"MlgetStalled", "MlgetKilled", "MlgetFailed", "MlgetLinkDown", "MlgetLinksFinishApart"} {
		wanted = append(wanted, map[string]any{"eval_time": "20m", "alertname": name, "exp_alerts": []any{}})
	}
	test, err := json.Marshal(map[string]any{ // JSON is YAML
		"rule_files": []string{rules}, "evaluation_interval": "15s",
		"tests": []any{map[string]any{"interval": "15s", "input_series": input, "alert_rule_test": wanted}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "test.yml")
	if err := os.WriteFile(path, test, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(promtool, "test", "rules", path).CombinedOutput()
	for _, m := range regexp.MustCompile(`alertname: (\w+), time`).FindAllSubmatch(out, -1) {
		alerts = append(alerts, string(m[1]))
	}
	if (err == nil) != (len(alerts) == 0) {
		t.Fatalf("%v: %s", err, out)
	}
	return alerts
}

// TestAlertsOfTextfile: what a textfile says of a run that has ended, was interrupted
// or was killed fires what it should, and not for ever what it should not.
func TestAlertsOfTextfile(t *testing.T) {
	started := eventtest.TwoLinks()[:14]
	ended := func(code int) []event.Event {
		return append(slices.Clone(started), event.RunEnded{At: 3 * scheduler.Second, ExitCode: code, Error: "x"})
	}
	for _, c := range []struct {
		name    string
		events  []event.Event
		written bool
		want    []string
	}{
		{"no byte comes", started, true, []string{"MlgetStalled"}},
		{"killed", started, false, []string{"MlgetKilled"}},
		{"interrupted", ended(130), false, nil},
		{"failed", ended(4), false, []string{"MlgetFailed"}},
		{"done", eventtest.TwoLinks(), false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := firing(t, c.events, c.written); !slices.Equal(got, c.want) {
				t.Errorf("%v fire, want %v", got, c.want)
			}
		})
	}
}
