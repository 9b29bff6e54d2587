package progress

import (
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// A link that joins on the way has a row from then on, and its bytes count.
func TestLinkJoins(t *testing.T) {
	sample := func(at scheduler.Time, bytes ...int64) event.Sample {
		s := event.Sample{At: at * scheduler.Second, Size: 4000}
		for _, n := range bytes {
			s.Done += n
			s.Links = append(s.Links, event.LinkSample{Bytes: n, Rate: float64(n)})
		}
		return s
	}
	events := []event.Event{
		event.RunStarted{Links: []event.LinkInfo{{Name: "rmnet0"}}, Files: 1},
		event.FileStarted{At: 1, Output: "f"},
		event.ObjectKnown{At: 2, Size: 4000, Ranges: true},
		sample(1, 1000),
		event.LinkJoined{At: 1500 * scheduler.Millisecond, Link: 1, Info: event.LinkInfo{Name: "wlan0"}},
		event.LinkJoined{At: 1500 * scheduler.Millisecond, Link: 1, Info: event.LinkInfo{Name: "once more"}},
		sample(7, 2000, 500),
		event.RequestEnded{At: 8 * scheduler.Second, Link: 1, Bytes: 2000, LastByte: 8 * scheduler.Second},
		event.RequestEnded{At: 8 * scheduler.Second, Link: 0, Bytes: 2000, LastByte: 8 * scheduler.Second},
		event.FileEnded{At: 8 * scheduler.Second, Output: "f", Size: 4000},
		event.RunEnded{At: 8 * scheduler.Second},
	}
	var b board
	for _, e := range events {
		b.add(e)
	}
	if len(b.links) != 2 || b.linkBytes(0) != 2000 || b.linkBytes(1) != 2000 || b.received() != 4000 {
		t.Errorf("%+v: %d bytes", b.links, b.received())
	}
	if got := show(events, Config{Mode: ModePlain}); strings.Count(got, "; wlan0 ") != 2 || strings.Contains(got, "once more") {
		t.Errorf("plain:\n%s", got)
	}
	last, _ := lastFrame(show(events, Config{Mode: ModeBar}))
	if strings.Count(last, "wlan0") != 1 || strings.Index(last, "rmnet0") > strings.Index(last, "wlan0") || strings.Index(last, "wlan0") > strings.Index(last, "total") {
		t.Errorf("bars:\n%s", last)
	}
}
