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
	if got := b.fileCount(); got != "1 files" {
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
	if got := b.fileCount(); got != "3/3 files, 1 failed" {
		t.Errorf("files at the end: %q", got)
	}
}
