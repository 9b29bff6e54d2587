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
		{"waste 0 B · CPU", 5, []Link{{ThroughputMbps: 5, BandwidthMbps: 6, State: "used"}, {BandwidthMbps: 6, State: "unused", Reason: "dear"}}},
		{"waste 0 B · CPU", 5, []Link{{ThroughputMbps: 5, BandwidthMbps: 6, State: "used", Reason: "then left idle"}}},
		{"efficiency 50 % of", 5, []Link{{ThroughputMbps: 5, BandwidthMbps: 5}, {BandwidthMbps: 5, State: "lost", Reason: "silent"}}},
		{"efficiency 50 % of", 5, []Link{{ThroughputMbps: 5, BandwidthMbps: 10, State: "used"}, {State: "unused", Reason: "a backup"}}},
	} {
		var b bytes.Buffer
		c.links[0].Bytes = 1000
		if err := WriteSummary(&b, Report{ThroughputMbps: c.total, Links: c.links}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("want %q in\n%s", c.want, b.String())
		}
	}
}

// TestNoEfficiency: of a run that had nothing to do there is none.
func TestNoEfficiency(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSummary(&b, Report{Links: []Link{{BandwidthMbps: 5}}}); err != nil || strings.Contains(b.String(), "efficiency") {
		t.Errorf("%v: %s", err, b.String())
	}
}

// TestIncomplete: what is there of a file that was continued and interrupted again is
// what both runs have brought, of all there is.
func TestIncomplete(t *testing.T) {
	for want, r := range map[string]Report{
		"rs: 3.1 MiB of 19.1 MiB, incomplete, 2.1 MiB in 1.20 s, 14.7 Mbit/s; 1.0 MiB were there before\n": {
			SizeBytes: 20e6, ResumedBytes: 1 << 20, Links: []Link{{Bytes: 2_202_010}},
		},
		"rs: 2.0 MiB of 19.1 MiB, incomplete, in 1.20 s, 14.7 Mbit/s\n": {SizeBytes: 20e6, Links: []Link{{Bytes: 2 << 20}}},
		"rs: 3.0 MiB, incomplete, 2.0 MiB in 1.20 s, 14.7 Mbit/s; 1.0 MiB were there before\n": {
			SizeBytes: -1, ResumedBytes: 1 << 20, Links: []Link{{Bytes: 2 << 20}},
		},
	} {
		r.Output, r.ExitCode, r.Seconds, r.ThroughputMbps = "rs", 130, 1.2, 14.7
		var b bytes.Buffer
		if err := WriteSummary(&b, r); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}
