package eventtest

import (
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Batch is a run that downloads three files of 2, 2 and 3 MB as a batch. Of the third
// the batch fetches 0.2 MB over rmnet0 before it is left to a download of its own,
// which goes on from there over wlan0.
func Batch() []event.Event {
	const wlan, rmnet = scheduler.LinkID(0), scheduler.LinkID(1)
	started := func(at scheduler.Time, file event.FileID, name string) event.Event {
		return event.FileStarted{At: at, File: file, URL: "http://example.org/" + name, Output: name}
	}
	known := func(at scheduler.Time, file event.FileID, name string, size, resumed int64) event.Event {
		return event.ObjectKnown{At: at, File: file, EffectiveURL: "http://example.org/" + name, Size: size, Resumed: resumed, HTTP: "1.1", Ranges: resumed == 0}
	}
	ended := func(at scheduler.Time, file event.FileID, link scheduler.LinkID, chunk scheduler.ChunkID, off, n int64, outcome event.Outcome) event.Event {
		return event.RequestEnded{At: at, File: file, Link: link, Chunk: chunk, Off: off, Bytes: n, Outcome: outcome, Sent: 1 * ms, FirstByte: 30 * ms, LastByte: at - ms}
	}
	sample := func(at scheduler.Time, file event.FileID, size, done, wlan, rmnet int64) event.Event {
		s := event.Sample{At: at, File: file, Size: size, Done: done, Links: make([]event.LinkSample, 2)}
		for i, n := range []int64{wlan, rmnet} {
			if n > 0 {
				s.Links[i] = event.LinkSample{Bytes: n, Rate: mb, Bandwidth: 1.5 * mb, RTT: 20 * time.Millisecond, InFlight: 1}
			}
		}
		return s
	}
	return []event.Event{
		event.RunStarted{Version: "0.1.0", Started: Started(), Algorithm: "3", Links: links("wlan0", "rmnet0"), Files: 3},
		started(1*ms, 0, "a"),
		event.RequestStarted{At: 1 * ms, File: 0, Link: wlan, Chunk: 0, End: 2 * mb},
		started(1*ms, 1, "b"),
		event.RequestStarted{At: 1 * ms, File: 1, Link: rmnet, Chunk: 1, End: 1 * mb},
		known(30*ms, 0, "a", 2*mb, 0),
		known(30*ms, 1, "b", 2*mb, 0),
		sample(1000*ms, event.Batch, 6*mb, 1600_000, 1*mb, 600_000),
		ended(1400*ms, 1, rmnet, 1, 0, 1*mb, event.OutcomeDone),
		started(1400*ms, 2, "c"),
		event.RequestStarted{At: 1400 * ms, File: 2, Link: rmnet, Chunk: 2, End: 1 * mb},
		ended(1700*ms, 2, rmnet, 2, 0, 200_000, event.OutcomeCancelled),
		sample(1750*ms, event.Batch, 4200_000, 2800_000, 1600_000, 1200_000),
		sample(1800*ms, 2, -1, 200_000, 0, 0), // what it receives from now on is its own
		event.RequestStarted{At: 1800 * ms, File: 2, Link: wlan, Chunk: 0, Off: 200_000, End: 1 << 62},
		event.RequestStarted{At: 1800 * ms, File: 1, Link: rmnet, Chunk: 3, Off: 1 * mb, End: 2 * mb},
		known(1830*ms, 2, "c", 3*mb, 200_000),
		sample(2200*ms, event.Batch, 4200_000, 3600_000, 2*mb, 1600_000),
		ended(2200*ms, 0, wlan, 0, 0, 2*mb, event.OutcomeDone),
		event.FileEnded{At: 2210 * ms, File: 0, Output: "a", Size: 2 * mb},
		sample(2300*ms, 2, 3*mb, 700_000, 500_000, 0),
		ended(2600*ms, 1, rmnet, 3, 1*mb, 1*mb, event.OutcomeDone),
		event.FileEnded{At: 2610 * ms, File: 1, Output: "b", Size: 2 * mb},
		sample(2700*ms, event.Batch, 4200_000, 4200_000, 2*mb, 2200_000),
		sample(4000*ms, 2, 3*mb, 2200_000, 2*mb, 0),
		ended(4800*ms, 2, wlan, 0, 200_000, 2800_000, event.OutcomeDone),
		sample(4800*ms, 2, 3*mb, 3*mb, 2800_000, 0),
		event.FileEnded{At: 4810 * ms, File: 2, Output: "c", Size: 3 * mb},
		sample(4820*ms, event.Batch, 4200_000, 4200_000, 2*mb, 2200_000),
		event.RunEnded{At: 4820 * ms, CPU: 40 * time.Millisecond, MaxRSS: 11 << 20, Links: []event.LinkTotals{
			{Connections: 2, LocalAddr: "10.0.1.2:40000", RemoteAddr: "10.9.0.1:80", RTT: 20 * time.Millisecond},
			{Connections: 1, LocalAddr: "10.0.2.2:40000", RemoteAddr: "10.9.0.1:80", RTT: 20 * time.Millisecond},
		}},
	}
}
