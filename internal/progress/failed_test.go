package progress

import (
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// What has failed is never shown as done.
func TestFailedIsNotAll(t *testing.T) {
	known := func(id event.FileID, size, done int64) []event.Event {
		return []event.Event{
			event.FileStarted{At: 1, File: id},
			event.ObjectKnown{At: 2, File: id, Size: size},
			event.Sample{At: 3, File: id, Size: size, Done: done},
		}
	}
	failed := func(id event.FileID) event.Event { return event.FileEnded{At: 4, File: id, Size: -1, ExitCode: 8} }
	notFound := func(id event.FileID) []event.Event {
		return []event.Event{event.FileStarted{At: 1, File: id}, failed(id)}
	}
	there := func(id event.FileID) []event.Event {
		return append(known(id, 1000, 1000), event.FileEnded{At: 4, File: id, Size: 1000})
	}
	for _, c := range []struct {
		name       string
		files      int
		events     [][]event.Event
		total      string // percentage of the whole's bar
		plain, no  string // in the line of text, and not in it
		size, left string // of the JSON line
	}{
		{"not found", 1, [][]event.Event{notFound(0)}, "-", "mlget: 0 B, 0.0", "%", "-1", "null"},
		{"all of several", 2, [][]event.Event{notFound(0), notFound(1)}, "-", "mlget: 0 B, 0/2 files, 2 failed", "%", "-1", "null"},
		{"one of several", 3, [][]event.Event{notFound(0), there(1), there(2)}, "-", "mlget: 2.0 KiB, 2/3 files, 1 failed", "%", "2000", "0"},
		{"a part", 1, [][]event.Event{known(0, 1000, 500), {failed(0)}}, "50 %", "mlget: 50 %, 500 B of 1000 B", "100 %", "1000", "0"},
		{"a part of several", 2, [][]event.Event{known(0, 1000, 500), {failed(0)}, there(1)}, "75 %", "mlget: 75 %, 1.5 KiB of 2.0 KiB, 1/2 files, 1 failed", "100 %", "2000", "0"},
		{"wrong", 1, [][]event.Event{known(0, 1000, 1000), {failed(0)}}, "99 %", "mlget: 99 %, 1000 B of 1000 B", "100 %", "1000", "0"},
		{"empty, and there", 1, [][]event.Event{{event.FileStarted{At: 1}, event.FileEnded{At: 2}}}, "100 %", "mlget: 100 %, 0 B of 0 B", "-", "0", "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := []event.Event{event.RunStarted{Files: c.files, Links: []event.LinkInfo{{Name: "a"}}}}
			var b board
			for _, more := range c.events {
				events = append(events, more...)
			}
			events = append(events, event.RunEnded{At: 5})
			for _, e := range events {
				b.add(e)
			}
			if row := b.totalRow(); row.percent != c.total || row.part == 1 != (c.total == "100 %") {
				t.Errorf("bar: %+v, want %s", row, c.total)
			}
			if got := show(events, Config{Mode: ModePlain}); !strings.HasPrefix(got, c.plain) || strings.Contains(got, c.no) {
				t.Errorf("plain: %q, want %q, without %q", got, c.plain, c.no)
			}
			got := show(events, Config{Mode: ModeJSON})
			if !strings.Contains(got, `"size_bytes":`+c.size+",") || !strings.Contains(got, `"left_seconds":`+c.left+",") {
				t.Errorf("JSON: %s, want size %s and left %s", got, c.size, c.left)
			}
		})
	}
}

// TestFailedAmongMany: of a list with a file that is not there, what is shown while it
// lasts is of the bytes that will come, and at the end nothing is left.
func TestFailedAmongMany(t *testing.T) {
	var b board
	b.add(event.RunStarted{Files: 7, Links: []event.LinkInfo{{Name: "a"}}})
	b.add(event.FileStarted{At: 1, File: 0})
	b.add(event.FileEnded{At: 2, File: 0, Size: -1, ExitCode: 8})
	for id := event.FileID(1); id < 7; id++ {
		b.add(event.FileStarted{At: 3, File: id})
		b.add(event.ObjectKnown{At: 4, File: id, Size: 1000})
		b.add(event.Sample{At: 5, File: id, Size: 1000, Done: 500})
	}
	if part, known := b.fraction(); part != 0.5 || !known {
		t.Errorf("%v, %v: of what will come the half is there", part, known)
	}
	if got := b.fileCount(); got != "0/7 files, 1 failed" {
		t.Error(got)
	}
	for id := event.FileID(1); id < 7; id++ {
		b.add(event.FileEnded{At: 6, File: id, Size: 1000})
	}
	if part, known := b.fraction(); part != mostOfFailed || !known {
		t.Errorf("%v, %v before the end", part, known)
	}
	b.add(event.RunEnded{At: 7, ExitCode: 8})
	left, known := b.left()
	if got := b.fileCount(); got != "6/7 files, 1 failed" || left != 0 || !known {
		t.Errorf("%s, %v left, %v", got, left, known)
	}
	if row := b.totalRow(); row.percent != "-" || row.known {
		t.Errorf("%+v: nobody knows what is missing", row)
	}
}

// TestNothingLeftAtTheEnd: a run that was interrupted will take no more time.
func TestNothingLeftAtTheEnd(t *testing.T) {
	var b board
	b.add(event.RunStarted{Files: 1, Links: []event.LinkInfo{{Name: "a"}}})
	b.add(event.FileStarted{At: 1})
	b.add(event.ObjectKnown{At: 2, Size: 1000})
	for i := range scheduler.Time(10) {
		b.add(event.Sample{At: 3 + i*scheduler.Second, Size: 1000, Done: 500, Links: []event.LinkSample{{Bytes: 500, Rate: 50}}})
	}
	if left, known := b.left(); left == 0 || !known {
		t.Errorf("%v left, %v, before the end", left, known)
	}
	b.add(event.FileEnded{At: 10 * scheduler.Second, Size: -1, ExitCode: 130})
	b.add(event.RunEnded{At: 10 * scheduler.Second, ExitCode: 130})
	if left, known := b.left(); left > 0 {
		t.Errorf("%v left, %v, after the end", left, known)
	}
}
