package report

import (
	"bytes"
	"strings"
	"testing"
)

// TestEfficiency: a link that carried more than it was estimated to carry does not make
// the whole more than all.
func TestEfficiency(t *testing.T) {
	for _, c := range []struct {
		want  string
		total float64
		links []Link
	}{
		{"efficiency 80 % of", 80, []Link{{ThroughputMbps: 80, BandwidthMbps: 100}}},
		{"efficiency 100 % of", 2.4, []Link{{ThroughputMbps: 2.4, BandwidthMbps: 0.04}}},
		{"efficiency 90 % of", 90, []Link{{ThroughputMbps: 40, BandwidthMbps: 10}, {ThroughputMbps: 50, BandwidthMbps: 60}}},
		{"waste 0 B · CPU", 5, []Link{{ThroughputMbps: 5}}},
	} {
		var b bytes.Buffer
		if err := WriteSummary(&b, Report{ThroughputMbps: c.total, Links: c.links}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("want %q in\n%s", c.want, b.String())
		}
	}
}
