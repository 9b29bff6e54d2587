package progress

import (
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// A list that comes through a pipe, or a directory: nobody knows how many files
// there are before the end, so there is no part of all, and no time left.
func TestFilesNotCounted(t *testing.T) {
	var b board
	b.add(event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0"}}})
	for i := range 3 {
		b.add(event.FileStarted{At: scheduler.Second, File: event.FileID(i)})
	}
	b.add(event.Sample{At: 2 * scheduler.Second, File: event.Batch, Size: 300, Done: 150, Links: []event.LinkSample{{Bytes: 150, Rate: 50}}})
	b.add(event.FileEnded{At: 2 * scheduler.Second, File: 1, Size: 100})
	if got := b.fileCount(); got != "1 file" {
		t.Errorf("files: %q", got)
	}
	if _, known := b.fraction(); known {
		t.Error("a part of something unknown is known")
	}
	if _, known := b.left(); known {
		t.Error("the time left is known")
	}
	b.add(event.FileEnded{At: 3 * scheduler.Second, File: 0, Size: 100})
	b.add(event.FileEnded{At: 3 * scheduler.Second, File: 2, ExitCode: 8})
	b.add(event.RunEnded{At: 3 * scheduler.Second})
	if got := b.fileCount(); got != "2/3 files, 1 failed" {
		t.Errorf("files at the end: %q", got)
	}
}

// TestRatesAddUp: the whole's rate is the sum of the links', as they are shown, from
// the first sample on and whatever they do.
func TestRatesAddUp(t *testing.T) {
	var b board
	b.add(event.RunStarted{Files: 1, Links: []event.LinkInfo{{Name: "wlan0"}, {Name: "rmnet0"}}})
	b.add(event.FileStarted{File: 0})
	for i, rates := range [][2]float64{{100, 50}, {10, 500}, {0, 0}, {70, 20}} {
		b.add(event.Sample{
			At: scheduler.Time(i+1) * scheduler.Second, Size: 1000, Done: 1,
			Links: []event.LinkSample{{Rate: rates[0]}, {Rate: rates[1]}},
		})
		if sum := b.shownRate(0) + b.shownRate(1); b.shownTotal() != sum {
			t.Errorf("sample %d: %v of all, the links together %v", i, b.shownTotal(), sum)
		}
		if i == 0 && b.shownRate(1) != 50 {
			t.Errorf("the first sample: %v", b.shownRate(1))
		}
	}
	if r := b.shownRate(0); r < 35 || r > 70 {
		t.Errorf("after 1 s at 70: %v", r)
	}
}
