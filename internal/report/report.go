// Package report sums a run's events up: as the JSON report, schema 1, and as a
// summary for people.
//
// Contract: a Builder belongs to one goroutine and starts none. It is pure: the
// same events give the same Report, whatever the clock says.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/mlget/mlget/internal/term"
)

// Schema is the version of the report's format.
const Schema = 1

// Report is a run's report; its JSON is schema 1. Mbps are 10^6 bit/s of payload. "Payload that
// counts" are the bytes of files that this run received and kept, without bytes that were on
// disk before and without waste.
type Report struct {
	Schema       int       `json:"schema"`
	Version      string    `json:"version"`
	URL          string    `json:"url"`           // without credentials; of several files, the first
	EffectiveURL string    `json:"effective_url"` // after redirects; of several files, the first
	Output       string    `json:"output"`        // final name; of several files, the first
	Algorithm    string    `json:"algorithm"`
	EnergyPolicy string    `json:"energy_policy,omitempty"` // "off", "emtcp", "emtcp=SHARE" or "min-energy"
	HTTP         string    `json:"http"`                    // "1.1" (also where the server answers with HTTP/1.0) or "2"; empty: there was no answer, or only errors; of several files, the first
	Started      time.Time `json:"started"`                 // wall clock

	// SizeBytes is the sum of the files' sizes as far as they are known; -1 when
	// no size is.
	SizeBytes int64 `json:"size_bytes"`
	// Seconds runs from the start of the run's first connection to the last byte
	// of payload that counts; 0 when none came.
	Seconds        float64 `json:"seconds"`
	ThroughputMbps float64 `json:"throughput_mbps"` // payload that counts / Seconds
	// LinkDeltaSeconds is the time between the last payload bytes of the first and
	// of the last link to finish, over links that carried payload that counts; 0
	// with fewer than two of these. (Thesis, "Link Δ".)
	LinkDeltaSeconds float64 `json:"link_delta_seconds"`
	WastedBytes      int64   `json:"wasted_bytes"`  // payload received and thrown away
	ResumedBytes     int64   `json:"resumed_bytes"` // payload that was on disk before this run
	Requests         int     `json:"requests"`      // ranges given to links
	Retries          int     `json:"retries"`       // requests that failed and whose rest was asked for again

	CPUSeconds  float64 `json:"cpu_seconds"`   // user and system time of the process
	MaxRSSBytes int64   `json:"max_rss_bytes"` // peak resident set
	// VoluntarySwitches is how often a thread of the process gave its processor up, to be woken
	// later, and WakeupsPerSecond that by the second of the run; absent where the system does
	// not tell.
	VoluntarySwitches int64   `json:"voluntary_switches,omitempty"`
	WakeupsPerSecond  float64 `json:"wakeups_per_second,omitempty"`
	ExitCode          int     `json:"exit_code"`
	Error             string  `json:"error"` // empty: none

	// Policy counts the answers of the program that chose the sizes of requests (--algorithm
	// exec:PROGRAM); nil: there was none.
	Policy *Policy `json:"policy,omitempty"`

	Links []Link `json:"links"` // in the order in which they were named, then of joining
	// FilesTotal is how many files there are, as far as that is known, and FilesDone
	// how many of them are complete.
	FilesTotal int    `json:"files_total"`
	FilesDone  int    `json:"files_done"`
	Files      []File `json:"files,omitempty"` // of several, each; in the order in which they were named
	// Tuning is the choices of many files' concurrency, parallelism and pipelining, with
	// reasons: all changes, or the first and the last of very many.
	Tuning []Tuning `json:"tuning,omitempty"`

	Power            *Power `json:"power"` // nil: see PowerUnavailable
	PowerUnavailable string `json:"power_unavailable,omitempty"`

	Energy            *Energy `json:"energy"` // nil: see EnergyUnavailable
	EnergyUnavailable string  `json:"energy_unavailable,omitempty"`
}

// Policy counts the answers of a program that chose the sizes of requests.
type Policy struct {
	Questions   int64  `json:"questions"`       // how often a size was needed
	LateAnswers int64  `json:"late_answers"`    // of these, how often there was no answer within 20 ms
	Fallbacks   int64  `json:"fallbacks"`       // of these, how often the size was Algorithm 3's: late, and all after the program failed
	Error       string `json:"error,omitempty"` // why the program was not asked any more
}

// Link is one link's part in a run.
type Link struct {
	Name  string `json:"name"`
	Bind  string `json:"bind"`  // "device", "address", "android-network" or "index"
	State string `json:"state"` // at the end: "used", "unused", "banned", "lost" or "capped"
	// Reason is why the link is in that state, where something decided on it.
	Reason string `json:"reason,omitempty"`
	Bytes  int64  `json:"bytes"` // payload that counts; waste is in the run's WastedBytes alone
	// Seconds runs from when the link's first request was sent to its last byte of
	// payload that counts, pauses included; 0 when none came.
	Seconds         float64 `json:"seconds"`
	FinishedSeconds float64 `json:"finished_seconds"` // that last byte, counted as the run's Seconds are
	ThroughputMbps  float64 `json:"throughput_mbps"`  // Bytes / Seconds
	// PeakMbps is the highest rate over half a second or a little more, by the segments
	// that the kernel counted when they came, and at least the throughput: a run of a
	// moment has no other. Where the system does not count segments, it is the highest
	// rate in any sample, which is too high where bytes waited behind a lost packet.
	PeakMbps float64 `json:"peak_mbps"`
	// BandwidthMbps is the scheduler's last estimate of what the link can carry; 0
	// when it made none.
	BandwidthMbps float64 `json:"bandwidth_mbps"`
	RTTMs         float64 `json:"rtt_ms"` // least round-trip time seen, in milliseconds; 0: unknown
	Requests      int     `json:"requests"`
	Retries       int     `json:"retries"`
	Connections   int     `json:"connections"` // opened during the run
	// Reads is how many system calls took bytes from its connections; absent where they are not
	// counted: so far on Linux only.
	Reads      int64  `json:"reads,omitempty"`
	LocalAddr  string `json:"local_addr"` // of the last connection
	RemoteAddr string `json:"remote_addr"`
}

// File is one of several files' part in a run; its fields mean the same as in Report.
type File struct {
	URL            string  `json:"url"`
	EffectiveURL   string  `json:"effective_url"`
	Output         string  `json:"output"`
	HTTP           string  `json:"http"`
	SizeBytes      int64   `json:"size_bytes"` // -1: unknown
	Bytes          int64   `json:"bytes"`      // payload that counts
	Seconds        float64 `json:"seconds"`    // from the file's start to its last byte of payload that counts
	ThroughputMbps float64 `json:"throughput_mbps"`
	WastedBytes    int64   `json:"wasted_bytes"`
	ResumedBytes   int64   `json:"resumed_bytes"`
	Requests       int     `json:"requests"`
	Retries        int     `json:"retries"`
	ExitCode       int     `json:"exit_code"`
	Error          string  `json:"error"`
}

// Power is the measured power of the device; median, 90th percentile and peak are of the
// readings within the run's Seconds. With the source "model" it is not measured: it is that of
// the radios alone, by their models.
type Power struct {
	Source          string  `json:"source"` // "battery", "rapl", "hwmon", "odpm", "termux" or "model"
	IntervalSeconds float64 `json:"interval_seconds"`
	// Samples is how many readings count: not readings on external power, nor repetitions of
	// the last one, except for the last of these. Readings before the first connection and
	// after the last byte count.
	Samples int `json:"samples"`
	// BaseWatts is the median of the readings before the first connection, else the 5th
	// percentile of all. With the source "model", it is that of idle radios.
	BaseWatts   float64 `json:"base_watts"`
	MedianWatts float64 `json:"median_watts"`
	P90Watts    float64 `json:"p90_watts"`
	PeakWatts   float64 `json:"peak_watts"`
	// BaseMeasured says that the device was watched before the first connection for
	// two intervals at least (--power-baseline). Else BaseWatts may well be too high,
	// and dynamic energy too low.
	BaseMeasured bool `json:"base_measured"`
	// RefreshSeconds is how often the gauge looks, of several the slowest, as far as the
	// readings tell it; 0: they do not, or it is a counter, which misses nothing. Where
	// it is longer than IntervalSeconds the gauge is slower than it was asked.
	RefreshSeconds float64 `json:"refresh_seconds"`
}

// WriteJSON writes the report to w as one indented JSON object and a line end. It
// may end on a terminal: no character in it could be obeyed by one. Files are
// written one by one: there may be a hundred thousand.
func (r Report) WriteJSON(w io.Writer) error {
	files := r.Files
	if len(files) > 0 {
		r.Files = make([]File, 1) // its place
	}
	frame, err := indented(r, "")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	before, after, found := bytes.Cut(frame, []byte(filesBegin))
	_, _ = out.Write(before) // out keeps its first error for Flush
	if found {
		_, _ = out.WriteString(filesBegin)
		for i := range files {
			row, err := indented(&files[i], "    ")
			if err != nil {
				return err
			}
			if i > 0 {
				_, _ = out.WriteString(",\n    ")
			}
			_, _ = out.Write(bytes.TrimSpace(row))
		}
		_, after, _ = bytes.Cut(after, []byte("\n    }"))
		_, _ = out.Write(after)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// filesBegin stands before the first of the files. No text can look like it: in
// JSON there are no line ends within one.
const filesBegin = "\n  \"files\": [\n    "

// indented is v as JSON that no terminal could obey.
func indented(v any, prefix string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // or no URL with a query could be read
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return term.HarmlessJSON(b.Bytes()), nil
}
