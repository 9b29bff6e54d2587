package progress

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestAside: what a file of a batch receives that is downloaded by itself is added to
// what the others do, and so is its size, while it is in progress and afterwards.
func TestAside(t *testing.T) {
	shared := event.Sample{At: 3, File: event.Batch, Size: 1000, Done: 500, Links: []event.LinkSample{{Bytes: 500}}}
	own := event.Sample{At: 3, File: 1, Size: 2000, Done: 400, Links: []event.LinkSample{{Bytes: 400}}}
	events := []event.Event{
		event.RunStarted{Links: []event.LinkInfo{{Name: "lo"}}, Files: 3},
		event.FileStarted{At: 1, File: 0},
		event.ObjectKnown{At: 1, File: 0, Size: 500},
		event.FileStarted{At: 1, File: 1},
		event.Sample{At: 2, File: 1, Size: -1, Links: []event.LinkSample{{}}},
		event.ObjectKnown{At: 2, File: 1, Size: 2000},
	}
	ended := event.RequestEnded{At: 4, File: 1, Bytes: 2000, LastByte: 4}
	for _, c := range []struct {
		name       string
		more       []event.Event
		done, size int64
	}{
		{"the batch's sample is the last", []event.Event{own, shared}, 900, 3000},
		{"the file's sample is the last", []event.Event{shared, own}, 900, 3000},
		{"the file's size is not known", []event.Event{shared, event.Sample{At: 3, File: 1, Size: -1, Done: 400, Links: own.Links}}, 900, 1400},
		{"the file is there", []event.Event{own, shared, ended, event.FileEnded{At: 5, File: 1, Size: 2000}}, 2500, 3000},
		{"the file has failed", []event.Event{shared, own, event.RequestEnded{At: 4, File: 1, Bytes: 400}, event.FileEnded{At: 5, File: 1, ExitCode: 8}}, 900, 3000},
		{"one of the others is there", []event.Event{own, event.RequestEnded{At: 3, Bytes: 500}, event.FileEnded{At: 3, Size: 500}, shared}, 900, 3000},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b board
			for _, e := range append(events[:len(events):len(events)], c.more...) {
				b.add(e)
			}
			if size, known := b.size(); b.done() != c.done || b.received() != c.done || size != c.size || !known {
				t.Errorf("%d done, %d received, of %d (%v); want %d of %d", b.done(), b.received(), size, known, c.done, c.size)
			}
		})
	}
}

// TestBatch: nothing that is shown of a batch falls, and in the end it is all there.
func TestBatch(t *testing.T) {
	var b board
	done, received := int64(0), int64(0)
	for i, e := range eventtest.Batch() {
		b.add(e)
		if b.done() < done || b.received() < received {
			t.Errorf("event %d: %d done, %d received; it was %d and %d", i, b.done(), b.received(), done, received)
		}
		done, received = b.done(), b.received()
		if _, sampled := e.(event.Sample); sampled && i > 7 && done != received {
			t.Errorf("event %d: %d done, the links together %d", i, done, received)
		}
	}
	if size, _ := b.size(); done != 7e6 || size != 7e6 || b.linkBytes(0) != 4.8e6 || b.linkBytes(1) != 2.2e6 {
		t.Errorf("%d of %d; links %d, %d", done, size, b.linkBytes(0), b.linkBytes(1))
	}
	if rate := b.linkRate(0) + b.linkRate(1); int64(rate) != int64(b.rate) || b.linkRate(1) == 0 {
		t.Errorf("the links together %v, all %v", rate, b.rate)
	}
}

// TestFilesOfABatchMove: a file's own bar grows while the file is on its way, and ends at
// its size.
func TestFilesOfABatchMove(t *testing.T) {
	b := bars{screen: newScreen(&strings.Builder{})}
	percents := func() (all []string) {
		for _, f := range b.files {
			all = append(all, b.contentOf(f).percent)
		}
		return all
	}
	sample := func(at scheduler.Time, first, second int64) event.Event {
		return event.Sample{
			At: at, File: event.Batch, Size: 3000, Done: first + second, Links: []event.LinkSample{{Bytes: first + second}},
			Files: []event.FileSample{{File: 0, Bytes: first}, {File: 1, Bytes: second}},
		}
	}
	for i, step := range []struct {
		e    event.Event
		want []string
	}{
		{event.RunStarted{Links: []event.LinkInfo{{Name: "lo"}}, Files: 2}, nil},
		{event.FileStarted{At: 1, File: 0, Output: "a"}, []string{"-"}},
		{event.FileStarted{At: 1, File: 1, Output: "b"}, []string{"-", "-"}},
		{event.ObjectKnown{At: 1, File: 0, Size: 1000}, []string{"0 %", "-"}},
		{event.ObjectKnown{At: 1, File: 1, Size: 2000, Resumed: 500}, []string{"0 %", "25 %"}},
		{sample(2, 250, 500), []string{"25 %", "50 %"}},
		{event.RequestEnded{At: 3, File: 0, Bytes: 1000, LastByte: 3}, []string{"100 %", "50 %"}},
		{sample(4, 1100, 600), []string{"100 %", "55 %"}},
		{event.FileEnded{At: 5, File: 1, ExitCode: 8}, []string{"100 %", "-"}},
	} {
		b.add(step.e)
		if have := percents(); !slices.Equal(have, step.want) {
			t.Errorf("step %d: %q, want %q", i, have, step.want)
		}
	}
}
