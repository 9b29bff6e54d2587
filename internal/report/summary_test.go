package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEfficiency holds the summary's efficiency against the sum of what the links could
// carry: the estimate, but no more than the peak and no less than the throughput.
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
		// make demo: links of 79.1 and 61.7 Mbit/s of payload, whose bytes arrived unevenly.
		{"efficiency 89 % of", 125, []Link{
			{ThroughputMbps: 74.4, BandwidthMbps: 89.6, PeakMbps: 79.3},
			{ThroughputMbps: 50.8, BandwidthMbps: 80.3, PeakMbps: 61.8},
		}},
		// A link whose rate varies reaches its peak only now and then.
		{"efficiency 80 % of", 80, []Link{{ThroughputMbps: 80, BandwidthMbps: 100, PeakMbps: 130}}},
		// Too short for a peak, which is the mean then.
		{"efficiency 40 % of", 40, []Link{{ThroughputMbps: 40, BandwidthMbps: 100, PeakMbps: 40}}},
		{"efficiency 50 % of", 5, []Link{{ThroughputMbps: 5, BandwidthMbps: 5}, {BandwidthMbps: 5, State: "lost", Reason: "silent"}}},
		{"efficiency 50 % of", 5, []Link{{ThroughputMbps: 5, BandwidthMbps: 10, State: "used"}, {State: "unused", Reason: "a backup"}}},
	} {
		var b bytes.Buffer
		c.links[0].Bytes = 1000
		if err := WriteSummary(&b, Report{ThroughputMbps: c.total, Links: c.links}, Detail{Verbose: true}); err != nil {
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
	if err := WriteSummary(&b, Report{Links: []Link{{BandwidthMbps: 5}}}, Detail{Verbose: true}); err != nil || strings.Contains(b.String(), "efficiency") {
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
		if err := WriteSummary(&b, r, Detail{Verbose: true}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(b.String(), want) {
			t.Errorf("want %q in\n%s", want, b.String())
		}
	}
}

// TestSummaryFitsTheTerminal: at any width no line is longer than it, and no number is cut
// off from its unit, or from the rest of it.
func TestSummaryFitsTheTerminal(t *testing.T) {
	r := Report{
		Output: "object.bin", SizeBytes: 100e6, Seconds: 12.345, ThroughputMbps: 120.25, LinkDeltaSeconds: 0.1, WastedBytes: 1_000_000, ResumedBytes: 25e6,
		CPUSeconds: 0.31, MaxRSSBytes: 22 << 20, Requests: 1234, Retries: 12,
		Links: []Link{
			{Name: "wlan0", State: "used", Bytes: 50e6, Seconds: 12.3, ThroughputMbps: 80.3, PeakMbps: 81.2, BandwidthMbps: 82, RTTMs: 16.1, Requests: 1000},
			{Name: "rmnet_data0", State: "banned", Reason: "silent for 1.5 s and asked again 12 times since", Bytes: 25e6, Seconds: 11, ThroughputMbps: 41.3, PeakMbps: 52, BandwidthMbps: 60, RTTMs: 50.2, Requests: 234, Retries: 12},
		},
		Power:  &Power{Source: "battery", IntervalSeconds: 1, Samples: 12, MedianWatts: 2.5},
		Energy: &Energy{DynamicJoules: 26.4, JoulesPer100MB: 26.4, TailSeconds: 4, TailJoules: 3.1},
	}
	for columns := 28; columns <= 140; columns++ {
		var b bytes.Buffer
		if err := WriteSummary(&b, r, Detail{Columns: columns, Verbose: true}); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(b.String())
		for _, line := range strings.Split(b.String(), "\n") {
			if n := utf8.RuneCountInString(line); n > columns {
				t.Errorf("%d columns of %d: %q", n, columns, line)
			}
			if strings.HasSuffix(line, " ") || strings.HasSuffix(line, "·") {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		text := "\n" + b.String()
		for _, whole := range []string{"71.5 MiB in", "12.3", "120.2 Mbit/s", "23.8 MiB", "Link Δ 0.10 s", "waste 976.6 KiB", "CPU 0.31 s", "peak RSS 22.0 MiB", "26.4 J", "1.5 s", "12 times", "wlan0", "80.3"} {
			if whole == "12.3" && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "12.3") }) || whole != "12.3" && !strings.Contains(text, whole) {
				t.Errorf("%d columns: no %q in\n%s", columns, whole, text)
			}
		}
		if columns == 40 || columns == 80 {
			t.Log(text)
		}
	}
}

// TestShortSummary: a file over one link is a single line, unless more is asked for; several
// links have a table, without columns for experts. It fits a phone that is held upright.
func TestShortSummary(t *testing.T) {
	one := Report{
		Output: "a.bin", SizeBytes: 100e6, Seconds: 12.345, ThroughputMbps: 64.8, CPUSeconds: 0.31, MaxRSSBytes: 22 << 20,
		Links:  []Link{{Name: "wlan0", State: "used", Bytes: 100e6, Seconds: 12.3, ThroughputMbps: 64.8, PeakMbps: 81.2, RTTMs: 16.1, Requests: 10}},
		Energy: &Energy{Modelled: true, DynamicJoules: 5},
	}
	two := one
	two.Links = append(one.Links[:1:1], Link{Name: "rmnet_data0", State: "used", Bytes: 50e6, Seconds: 11, ThroughputMbps: 41.3, PeakMbps: 52, BandwidthMbps: 60, RTTMs: 50.2, Requests: 234})
	for _, c := range []struct {
		name     string
		r        Report
		d        Detail
		lines    int
		has, not string
	}{
		{"one link", one, Detail{}, 1, "a.bin: 95.4 MiB in 12.35 s", "wlan0"},
		{"one link, energy asked for", one, Detail{Energy: true}, 2, "modelled: ", "wlan0"},
		{"one link, verbose", one, Detail{Verbose: true}, 6, "peak RSS", ""},
		{"two links", two, Detail{}, 7, "Link Δ", "peak RSS"},
		{"two links on a phone", two, Detail{Columns: 45}, 0, "rmnet_data0", "waste"},
	} {
		var b bytes.Buffer
		if err := WriteSummary(&b, c.r, c.d); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if n := strings.Count(text, "\n"); c.lines > 0 && n != c.lines {
			t.Errorf("%s: %d lines, want %d:\n%s", c.name, n, c.lines, text)
		}
		if !strings.Contains(text, c.has) || c.not != "" && strings.Contains(text, c.not) {
			t.Errorf("%s: want %q, and no %q, in\n%s", c.name, c.has, c.not, text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); c.d.Columns > 0 && n > c.d.Columns {
				t.Errorf("%s: %d columns: %s", c.name, n, line)
			}
		}
	}
}
