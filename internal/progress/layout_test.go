package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// way is two links' run while it is on, with what its device draws.
func way() []event.Event {
	return append(eventtest.TwoLinks()[:20:20], event.Power{At: 4200 * scheduler.Millisecond, Source: "battery", Watts: 3.24})
}

// TestGoldenWidths: what is shown on screens of several widths.
func TestGoldenWidths(t *testing.T) {
	for name, events := range map[string][]event.Event{
		"two-links": way(), "banned": eventtest.TwoLinks()[:17], "many-files": eventtest.ManyFiles(25)[:60], "three-files": eventtest.ManyFiles(3)[:9],
		"unknown-size": eventtest.UnknownSize()[:6],
	} {
		var all strings.Builder
		for _, columns := range []int{20, 40, 80, 200} {
			b := bars{}
			for _, e := range events {
				b.add(e)
			}
			all.WriteString(strings.Repeat("-", columns) + "\n")
			for _, line := range layout(b.rows(), b.status(), columns) {
				if cells(line) >= columns {
					t.Errorf("%s: %d of %d cells: %q", name, cells(line), columns, line)
				}
				all.WriteString(line + "\n")
			}
		}
		goldentest.File(t, "testdata/"+name+".widths", []byte(all.String()))
	}
}

// TestAnyWidth: no line is too long, and no width makes it fail.
func TestAnyWidth(t *testing.T) {
	for columns := range 250 {
		for name, events := range runs() {
			b := bars{}
			for _, e := range events {
				b.add(e)
			}
			for _, line := range clip(layout(b.rows(), b.status(), columns), 24) {
				if cells(line) > max(columns-1, 1) || unsafe(line) >= 0 {
					t.Fatalf("%s, %d columns: %q", name, columns, line)
				}
			}
		}
	}
}

func TestCells(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "abc": 3, "\u00fc": 1, "u\u0308": 1, "\u6587\u4ef6": 4, "\U0001f600": 2, "\uff21": 2, "\u0394": 1, "\u2026": 1, "\uff71": 1,
	} {
		if n := cells(s); n != want {
			t.Errorf("%q takes %d cells, not %d", s, n, want)
		}
	}
	if got := shorten("\u6587\u4ef6\u6587\u4ef6", 6); got != "\u6587\u4ef6\u2026" {
		t.Errorf("%q", got)
	}
}

func TestClip(t *testing.T) {
	lines := []string{"a", "b", "c", "d", "total", "status"}
	for most, want := range map[int]string{24: "a b c d total status", 7: "a b c d total status", 6: "a b c total status", 4: "a total status", 3: "total status", 2: "status", 1: "a b c d total status"} {
		if got := strings.Join(clip(lines, most), " "); got != want {
			t.Errorf("%d lines: %q, want %q", most, got, want)
		}
	}
}

// TestSpread: by hand, which link is done when.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		name         string
		rates, lefts []float64
		rest, want   float64
	}{
		{"nobody is asked yet: all finish together", []float64{10, 5}, []float64{0, 0}, 150, 0},
		{"what is left evens it out", []float64{10, 5}, []float64{50, 50}, 150, 0},
		{"it cannot", []float64{10, 5}, []float64{10, 100}, 130, 17},
		{"all is asked for", []float64{10, 5}, []float64{100, 100}, 200, 10},
		{"an end was taken over", []float64{10, 5}, []float64{100, 100}, 150, 0},
		{"and there was more than that", []float64{10, 5}, []float64{20, 100}, 80, 10},
		{"three", []float64{10, 10, 1}, []float64{0, 0, 30}, 60, 28.5},
	} {
		if got := spread(c.rates, c.lefts, c.rest); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestForecast(t *testing.T) {
	var b board
	for _, e := range eventtest.TwoLinks()[:20] {
		b.add(e)
	}
	// wlan0: 36 MB asked for at 1.6 s, 26 of 41 received; rmnet0: 19 asked for, 14 of 20 received.
	// Together more than the 15 that are missing: rmnet0 does its 5 in 0.77 s, wlan0 10 in 0.98 s.
	if got, known := b.linkDelta(); !known || got < 0.2 || got > 0.21 {
		t.Errorf("%v, %v", got, known)
	}
	for _, events := range [][]event.Event{
		nil, eventtest.TwoLinks()[:8], eventtest.TwoLinks()[:17], eventtest.TwoLinks(), eventtest.UnknownSize()[:6], eventtest.ManyFiles(4)[:5],
	} {
		var b board
		for _, e := range events {
			b.add(e)
		}
		if got, known := b.linkDelta(); known {
			t.Errorf("after %d events: %v", len(events), got)
		}
	}
}

func TestWatts(t *testing.T) {
	reading := event.Power{Source: "rapl", Watts: 7, Counter: true, Over: time.Second}
	for name, c := range map[string]struct {
		e     event.Power
		known bool
	}{
		"a reading":            {reading, true},
		"on external power":    {event.Power{Source: "battery", Watts: 7, External: true}, false},
		"a counter's first":    {event.Power{Source: "rapl", Counter: true}, false},
		"an instant's reading": {event.Power{Source: "battery", Watts: 7}, true},
	} {
		var b board
		b.add(c.e)
		if watts, source, known := b.watts(); known != c.known || known && (watts != 7 || source != c.e.Source) {
			t.Errorf("%s: %v, %q, %v", name, watts, source, known)
		}
	}
}

// TestErase: how far to go up, also in a window that has been made narrower.
func TestErase(t *testing.T) {
	s := screen{shown: []string{strings.Repeat("x", 79), "", "short"}}
	for columns, want := range map[int]string{80: "\x1b[3A\r\x1b[J", 79: "\x1b[3A\r\x1b[J", 40: "\x1b[4A\r\x1b[J", 1: "\x1b[85A\r\x1b[J"} {
		if got := s.erase(columns); got != want {
			t.Errorf("%d columns: %q, want %q", columns, got, want)
		}
	}
	if got := (&screen{}).erase(80); got != "" {
		t.Errorf("nothing is shown: %q", got)
	}
}

// TestUnchangedIsNotDrawn: a terminal gets nothing while nothing happens.
func TestUnchangedIsNotDrawn(t *testing.T) {
	var out strings.Builder
	s := screen{w: &out}
	s.show([]string{"a"}, 80)
	n := out.Len()
	s.show([]string{"a"}, 80)
	if out.Len() != n {
		t.Errorf("%q", out.String())
	}
	s.show([]string{"a"}, 40)
	if out.Len() == n {
		t.Error("a new width is not drawn")
	}
}

// BenchmarkDraw is one drawing, of which there are five a second.
func BenchmarkDraw(b *testing.B) {
	var out strings.Builder
	v := bars{screen: screen{w: &out}}
	for _, e := range way() {
		v.add(e)
	}
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		v.screen.shown = v.screen.shown[:0] // as if all had changed
		v.draw()
	}
}
