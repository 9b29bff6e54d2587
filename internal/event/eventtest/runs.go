package eventtest

import (
	"fmt"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	ms = scheduler.Millisecond
	mb = 1_000_000 // bytes
)

func links(names ...string) (infos []event.LinkInfo) {
	for _, n := range names {
		infos = append(infos, event.LinkInfo{Name: n, Bind: "device"})
	}
	return infos
}

// TwoLinks is a run over two links and a third that is never used. 25 MB of the
// file are kept from an earlier run, 75 MB come now: 50 over wlan0 from 0.1 s
// to 5.1 s, 25 over rmnet0 to 5.0 s. The last request of rmnet0 breaks once,
// and 1 MB of what wlan0 receives is thrown away. rmnet0 is banned for a while.
func TwoLinks() []event.Event {
	sample := func(at scheduler.Time, wlan, rmnet, wasted int64, rate0, rate1 float64) event.Sample {
		return event.Sample{
			At: at, Size: 100 * mb, Done: 25*mb + wlan + rmnet,
			Links: []event.LinkSample{
				{Bytes: wlan + wasted, Wasted: wasted, Rate: rate0, Bandwidth: 10.5 * mb, RTT: 17 * time.Millisecond, InFlight: 1},
				{Bytes: rmnet, Rate: rate1, Bandwidth: 6 * mb, RTT: 51 * time.Millisecond, InFlight: 1},
				{},
			},
		}
	}
	return []event.Event{
		event.RunStarted{Version: "0.1.0", Started: Started(), Algorithm: "3", Links: links("wlan0", "rmnet0", "usb0"), Files: 1},
		event.Notice{Warning: true, Text: "link eth7: no such interface; it is skipped"},
		event.FileStarted{At: 100 * ms, URL: "http://example.org/object.bin", Output: "object.bin"},
		event.RequestStarted{At: 100 * ms, Link: 0, Chunk: 0, Off: 25 * mb, End: 40 * mb},
		event.RequestStarted{At: 100 * ms, Link: 1, Chunk: 1, Off: 40 * mb, End: 50 * mb},
		event.ConnOpened{At: 117 * ms, Link: 0, Local: "10.0.1.2:40000", Remote: "10.9.0.1:80", RTT: 17 * time.Millisecond},
		event.ConnOpened{At: 151 * ms, Link: 1, Local: "10.0.2.2:40001", Remote: "10.9.0.1:80", RTT: 51 * time.Millisecond},
		event.ObjectKnown{At: 134 * ms, EffectiveURL: "http://cdn.example.org/object.bin", Size: 100 * mb, Resumed: 25 * mb, HTTP: "1.1", Ranges: true},
		event.LinkChanged{At: 140 * ms, Link: 0, State: event.LinkUsed},
		event.LinkChanged{At: 200 * ms, Link: 1, State: event.LinkUsed},
		event.Notice{At: 200 * ms, Text: "continuing at 25 MB"},
		sample(1100*ms, 10*mb, 5*mb, 0, 11*mb, 5.5*mb),
		event.RequestEnded{At: 1600 * ms, Link: 0, Chunk: 0, Off: 25 * mb, Bytes: 15 * mb, Outcome: event.OutcomeDone, Sent: 120 * ms, FirstByte: 137 * ms, LastByte: 1600 * ms},
		event.RequestStarted{At: 1600 * ms, Link: 0, Chunk: 2, Off: 50 * mb, End: 86 * mb},
		event.LinkChanged{At: 2000 * ms, Link: 1, State: event.LinkBanned, Reason: "silent for 1s"},
		event.RequestEnded{At: 2100 * ms, Link: 1, Chunk: 1, Off: 40 * mb, Bytes: 6 * mb, Outcome: event.OutcomeNetwork, Retry: true, Error: "read: connection reset by peer", Sent: 155 * ms, FirstByte: 206 * ms, LastByte: 1300 * ms},
		sample(2200*ms, 21*mb, 6*mb, 0, 10*mb, 0),
		event.LinkChanged{At: 2300 * ms, Link: 1, State: event.LinkUsed},
		event.RequestStarted{At: 2300 * ms, Link: 1, Chunk: 3, Off: 46 * mb, End: 65 * mb},
		sample(4100*ms, 40*mb, 20*mb, 1*mb, 10.25*mb, 6.5*mb),
		event.RequestEnded{At: 5000 * ms, Link: 1, Chunk: 3, Off: 46 * mb, Bytes: 19 * mb, Outcome: event.OutcomeDone, Sent: 2300 * ms, FirstByte: 2351 * ms, LastByte: 5000 * ms},
		event.RequestEnded{At: 5100 * ms, Link: 0, Chunk: 2, Off: 50 * mb, Bytes: 36 * mb, Wasted: 1 * mb, Outcome: event.OutcomeDone, Sent: 1600 * ms, FirstByte: 1617 * ms, LastByte: 5100 * ms},
		event.FileEnded{At: 5150 * ms, Output: "object.bin", Size: 100 * mb},
		event.RunEnded{At: 5200 * ms, CPU: 310 * time.Millisecond, MaxRSS: 21 << 20, Links: []event.LinkTotals{
			{Connections: 1, LocalAddr: "10.0.1.2:40000", RemoteAddr: "10.9.0.1:80", RTT: 16 * time.Millisecond},
			{Connections: 2, LocalAddr: "10.0.2.2:40002", RemoteAddr: "10.9.0.1:80", RTT: 50 * time.Millisecond},
			{},
		}},
	}
}

// UnknownSize is a run over one link from a server that tells no size; it is
// interrupted after 3 MB. The server's name for the file is a hostile one.
func UnknownSize() []event.Event {
	const name = "evil\x1b[2J\u202egpj.sh"
	return []event.Event{
		event.RunStarted{Version: "0.1.0", Started: Started(), Algorithm: "single", Links: links("eth0\x1b[31m"), Files: 1},
		event.FileStarted{URL: "http://example.org/stream", Output: name},
		event.RequestStarted{Off: 0, End: 1 << 62},
		event.ObjectKnown{At: 40 * ms, EffectiveURL: "http://example.org/stream", Size: -1, HTTP: "1.1"},
		event.Notice{At: 40 * ms, Warning: true, Text: "the server tells no size\r\x1b[1A: one stream"},
		event.Sample{At: 1000 * ms, Size: -1, Done: 1 * mb, Links: []event.LinkSample{{Bytes: 1 * mb, Rate: 1 * mb, Bandwidth: 1.1 * mb, RTT: 20 * time.Millisecond, InFlight: 1}}},
		event.Sample{At: 2900 * ms, Size: -1, Done: 2900_000, Links: []event.LinkSample{{Bytes: 2900_000, Rate: 1 * mb, Bandwidth: 1.1 * mb, RTT: 20 * time.Millisecond, InFlight: 1}}},
		event.RequestEnded{At: 3000 * ms, Bytes: 3 * mb, Outcome: event.OutcomeCancelled, FirstByte: 40 * ms, LastByte: 3000 * ms},
		event.FileEnded{At: 3000 * ms, Output: name, Size: -1, ExitCode: 130, Error: "interrupted"},
		event.RunEnded{At: 3010 * ms, ExitCode: 130, Error: "interrupted", CPU: 20 * time.Millisecond, MaxRSS: 9 << 20, Links: []event.LinkTotals{
			{Connections: 1, LocalAddr: "10.0.1.2:40000", RemoteAddr: "10.9.0.1:80", RTT: 20 * time.Millisecond},
		}},
	}
}

// Empty is a run that downloads a file of 0 bytes.
func Empty() []event.Event {
	return []event.Event{
		event.RunStarted{Version: "0.1.0", Started: Started(), Algorithm: "3", Links: links("wlan0", "rmnet0"), Files: 1},
		event.FileStarted{At: 1 * ms, URL: "http://example.org/empty", Output: "empty"},
		event.RequestStarted{At: 1 * ms, End: 1 << 20},
		event.ObjectKnown{At: 30 * ms, EffectiveURL: "http://example.org/empty", HTTP: "2"},
		event.RequestEnded{At: 30 * ms, Outcome: event.OutcomeDone, Sent: 2 * ms},
		event.Sample{At: 31 * ms, Links: []event.LinkSample{{RTT: 16 * time.Millisecond}, {}}},
		event.FileEnded{At: 32 * ms, Output: "empty"},
		event.RunEnded{At: 33 * ms, Links: []event.LinkTotals{{Connections: 1}, {}}},
	}
}

// ManyFiles is a run that downloads n files of 1 MB, two at a time; each second
// one comes over wlan0, the others over rmnet0, every file within a second.
// Every fifth is not found.
func ManyFiles(n int) []event.Event {
	events := []event.Event{event.RunStarted{Version: "0.1.0", Started: Started(), Algorithm: "3", Links: links("wlan0", "rmnet0"), Files: n}}
	exit, failure := 0, ""
	for first := 0; first < n; first += 2 {
		at := scheduler.Time(first/2) * scheduler.Second
		pair := []int{first}
		if first+1 < n {
			pair = append(pair, first+1)
		}
		for _, i := range pair {
			url := fmt.Sprintf("http://example.org/%d.jpg", i)
			events = append(events,
				event.FileStarted{At: at, File: event.FileID(i), URL: url, Output: fmt.Sprintf("%d.jpg", i)},
				event.RequestStarted{At: at, File: event.FileID(i), Link: scheduler.LinkID(i % 2), Chunk: 0, Off: 0, End: 4 * mb})
			if i%5 == 4 {
				exit, failure = 8, "404 Not Found"
				continue
			}
			events = append(events, event.ObjectKnown{At: at + 20*ms, File: event.FileID(i), EffectiveURL: url, Size: mb, HTTP: "2", Ranges: true})
		}
		for _, i := range pair {
			ended := event.RequestEnded{At: at + 1000*ms, File: event.FileID(i), Link: scheduler.LinkID(i % 2), Sent: at, Outcome: event.OutcomeStatus, Error: "404 Not Found"}
			if i%5 != 4 {
				sample := event.Sample{At: at + 500*ms, File: event.FileID(i), Size: mb, Done: mb / 2, Links: make([]event.LinkSample, 2)}
				sample.Links[i%2] = event.LinkSample{Bytes: mb / 2, Rate: mb, Bandwidth: mb, RTT: 20 * time.Millisecond, InFlight: 1}
				events = append(events, sample)
				ended.Bytes, ended.Outcome, ended.Error, ended.FirstByte, ended.LastByte = mb, event.OutcomeDone, "", at+20*ms, at+980*ms
			}
			events = append(events, ended)
		}
		for _, i := range pair {
			ended := event.FileEnded{At: at + 1000*ms, File: event.FileID(i), Output: fmt.Sprintf("%d.jpg", i), Size: mb}
			if i%5 == 4 {
				ended.Size, ended.ExitCode, ended.Error = -1, 8, "404 Not Found"
			}
			events = append(events, ended)
		}
	}
	end := scheduler.Time((n+1)/2) * scheduler.Second
	return append(events, event.RunEnded{At: end, ExitCode: exit, Error: failure, CPU: 50 * time.Millisecond, MaxRSS: 12 << 20, Links: []event.LinkTotals{
		{Connections: 1, LocalAddr: "10.0.1.2:40000", RemoteAddr: "10.9.0.1:443", RTT: 20 * time.Millisecond},
		{Connections: 1, LocalAddr: "10.0.2.2:40000", RemoteAddr: "10.9.0.1:443", RTT: 50 * time.Millisecond},
	}})
}
