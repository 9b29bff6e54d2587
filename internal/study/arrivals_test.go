package study

import (
	"math"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestTraceIsNoMoreThanTheLinkCarried: a link of 80 Mbit/s loses a packet at 2 s. For 0.6 s
// the program gets nothing, and then all of it at once; the segments came evenly.
func TestTraceIsNoMoreThanTheLinkCarried(t *testing.T) {
	const (
		perSecond = 10_000_000 // bytes
		end       = 5 * scheduler.Second
	)
	w := watcher{builder: report.Builder{}, files: make(map[event.FileID]*fileWatch)}
	w.add(event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0"}}, Files: 1})
	w.add(event.FileStarted{})
	w.add(event.RequestStarted{End: 5 * perSecond})
	for at := 200 * scheduler.Millisecond; at < end; at += 200 * scheduler.Millisecond {
		came := int64(perSecond * at.Seconds())
		handed := came
		if at > 2*scheduler.Second && at <= 2600*scheduler.Millisecond {
			handed = 2 * perSecond
		}
		s := event.LinkSample{Bytes: handed, InFlight: 1, TCP: event.TCPSegments{DataIn: came / 1000}}
		w.add(event.Sample{At: at, Size: 5 * perSecond, Done: handed, Links: []event.LinkSample{s}})
	}
	w.add(event.RequestEnded{At: end, Bytes: 5 * perSecond, Outcome: event.OutcomeDone, Sent: 1, FirstByte: 2, LastByte: end})
	w.add(event.RunEnded{At: end, Links: []event.LinkTotals{{TCP: event.TCPSegments{DataIn: 5 * perSecond / 1000}}}})
	var run Run
	w.finish(&run)
	sum := 0.0
	for i, mbps := range run.Traces[0].Mbps {
		if last := i == len(run.Traces[0].Mbps)-1; mbps > 81 || mbps < 78 && !last { // it ends within the last step
			t.Errorf("%.1f Mbit/s in step %d, want 80", mbps, i)
		}
		sum += mbps * run.Traces[0].Step / 8 * 1e6
	}
	if math.Abs(sum/(5*perSecond)-1) > 1e-6 {
		t.Errorf("%.0f bytes, want %d", sum, 5*perSecond)
	}
}
