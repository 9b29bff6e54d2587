package report

import (
	"math"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestPeakIsNoMoreThanTheLinkCarried: a link of 80 Mbit/s loses a packet at 2 s. For 0.6 s
// the program gets nothing, and then all of it at once; the segments came evenly.
func TestPeakIsNoMoreThanTheLinkCarried(t *testing.T) {
	const (
		perSecond = 10_000_000 // bytes
		segment   = 1_000      // bytes
		end       = 5 * scheduler.Second
	)
	play := func(counted bool) Report {
		var b Builder
		b.Add(event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0"}}, Files: 1})
		b.Add(event.FileStarted{})
		b.Add(event.RequestStarted{End: 5 * perSecond})
		last, before := scheduler.Time(0), int64(0)
		for at := 200 * scheduler.Millisecond; at <= end; at += 200 * scheduler.Millisecond {
			came := int64(perSecond * at.Seconds())
			handed := came
			if at > 2*scheduler.Second && at <= 2600*scheduler.Millisecond {
				handed = 2 * perSecond
			}
			s := event.LinkSample{Bytes: handed, Rate: float64(handed-before) / (at - last).Seconds(), InFlight: 1}
			if counted {
				s.TCP.DataIn = came / segment
			}
			b.Add(event.Sample{At: at, Size: 5 * perSecond, Done: handed, Links: []event.LinkSample{s}})
			last, before = at, handed
		}
		b.Add(event.RequestEnded{At: end, Bytes: 5 * perSecond, Outcome: event.OutcomeDone, Sent: 1, FirstByte: 2, LastByte: end})
		b.Add(event.FileEnded{At: end, Size: 5 * perSecond})
		totals := event.LinkTotals{Connections: 1}
		if counted {
			totals.TCP.DataIn = 5 * perSecond / segment
		}
		b.Add(event.RunEnded{At: end, Links: []event.LinkTotals{totals}})
		return b.Report()
	}
	if got := play(true).Links[0].PeakMbps; math.Abs(got-80) > 0.5 {
		t.Errorf("peak %v Mbit/s, want 80", got)
	}
	if got := play(false).Links[0].PeakMbps; got < 200 { // the samples are as bad as they are meant to be
		t.Errorf("peak %v Mbit/s by the samples' rates", got)
	}
}
