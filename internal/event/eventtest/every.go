// Package eventtest holds made-up event streams with which those who watch a
// run are tested: the same runs for the report, the record and the progress.
//
// Contract: functions that return fresh values; safe from any goroutine.
package eventtest

import (
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Started is the wall-clock time at which every run of this package began.
func Started() time.Time {
	return time.Date(2026, 3, 14, 15, 9, 26, 535_000_000, time.UTC)
}

// Every gives one event of each type, with no field at its zero value. A test
// of this package fails when a type is missing.
func Every() []event.Event {
	return []event.Event{
		event.RunStarted{
			Version: "1.2.3", Started: Started(), Algorithm: "3", Energy: "emtcp", Files: 2,
			Links: []event.LinkInfo{{Name: "wlan0", Bind: "device", Tech: "wifi"}, {Name: "rmnet0", Bind: "address", Tech: "lte"}},
		},
		event.FileStarted{At: 1, File: 1, URL: "http://example.org/a?b=1&c=<2>", Output: "a"},
		event.ObjectKnown{At: 2, File: 1, EffectiveURL: "http://example.net/a", Size: 5000, Resumed: 100, HTTP: "1.1", Ranges: true},
		event.LinkJoined{At: 3, Link: 2, Info: event.LinkInfo{Name: "usb0", Bind: "device", Tech: "ethernet"}},
		event.LinkChanged{At: 3, Link: 1, State: event.LinkBanned, Reason: "silent for 2s"},
		event.ConnOpened{At: 4, Link: 1, Local: "10.0.0.2:4711", Remote: "10.0.0.1:80", RTT: 16 * time.Millisecond},
		event.RequestStarted{At: 5, File: 1, Link: 1, Chunk: 7, Off: 100, End: 5000},
		event.RequestEnded{
			At: 6, File: 1, Link: 1, Chunk: 7, Off: 100, Bytes: 4900, Wasted: 10, Outcome: event.OutcomeNetwork,
			Retry: true, Error: "connection reset", Sent: 5, FirstByte: 6, LastByte: 7,
		},
		event.BytesDiscarded{At: 6, File: 1, Link: 1, Bytes: 90},
		event.Sample{
			At: 8, File: 1, Size: 5000, Done: 4990,
			Links: []event.LinkSample{{
				Bytes: 1, Wasted: 2, Rate: 3.5, Bandwidth: 4.5, RTT: 5, InFlight: 6,
				Connections: 7, TCP: event.TCPSegments{In: 8, Out: 9, DataIn: 10, DataOut: 11, Retrans: 12, OutOfOrder: 13},
			}},
			Files: []event.FileSample{{File: 2, Bytes: 3}},
		},
		event.SchedulerStarted{
			At: 9, File: 1, Algorithm: "3", StaticLimit: 4 << 20, Padding: 0.3, Links: 2, Size: 5000,
			Have: []scheduler.Range{{Off: 0, End: 100}}, Overlap: 0.6, Window: 1 << 20, NoSteal: true, NoFailover: true, Parallelism: 4, Offload: 0.1,
			Energy: scheduler.EnergyMin, Deadline: 10, Batch: true, TLS: true, Limited: true,
		},
		event.Step{
			At: 9, File: 1,
			Input: scheduler.Input{Kind: scheduler.Failed, Link: 1, Chunk: 2, Bytes: 3, RTT: 4, Wait: 5, Bandwidth: 6.5, Watts: 7.5, Terms: scheduler.Terms{Cap: 8, Backup: true, Radio: scheduler.Radio{ActiveMW: 9.5}}},
			Actions: []scheduler.Action{
				{Kind: scheduler.Start, Link: 1, Chunk: 2, Range: scheduler.Range{Off: 3, End: 4}},
				{Kind: scheduler.Rest, Link: 1, Why: scheduler.ReasonDear, Costs: 12600, Saves: 400},
				{Kind: scheduler.Complete},
			},
		},
		event.Tuned{
			At: 10, Link: 1, Mode: "eht", Why: "12 channels, 4.1 Mbit/s per J", Watts: 1.25, WattsSource: "battery",
			Plan: scheduler.Plan{Classes: [scheduler.MaxClasses]scheduler.Share{{Connections: 8}, {Connections: 4, Parallelism: 2, Pipelining: 3}}, Files: 5},
		},
		event.Notice{At: 10, Warning: true, Text: "no such link: eth7"},
		event.PowerSource{At: 10, Source: "rapl", Interval: time.Second, Detail: "package-0", Unavailable: "its counters do not move"},
		event.Power{At: 10, Source: "rapl", Watts: 2.5, Over: 3, Counter: true, Joules: 4.5, External: true, Still: 2, Refresh: 6},
		event.Usage{At: 10, CPU: time.Second, RSS: 1 << 20, SystemCPU: 2 * time.Second},
		event.FileEnded{At: 11, File: 1, Output: "a.1", Size: 5000, ExitCode: 7, Error: "object changed"},
		event.RunEnded{
			At: 12, ExitCode: 7, Error: "object changed", CPU: time.Second, MaxRSS: 1 << 20, Switches: 3000,
			Links: []event.LinkTotals{{
				Connections: 1, LocalAddr: "10.0.0.2:4711", RemoteAddr: "10.0.0.1:80", RTT: 16 * time.Millisecond,
				TCP:   event.TCPSegments{In: 1, Out: 2, DataIn: 3, DataOut: 4, Retrans: 5, OutOfOrder: 6},
				Reads: 7,
			}},
			Policy: &event.PolicyTotals{Questions: 1, LateAnswers: 2, Fallbacks: 3, Error: "it ended"},
		},
	}
}
