// Package event holds what happens in a run as typed values, and carries them
// from those who act (engine, simulator, samplers) to those who watch (report,
// record, progress, metrics).
//
// Contract: Publish never blocks on a watcher. Lifecycle events are lossless.
// A Sample, a Power or a Usage may be dropped when a watcher lags; what they count is
// cumulative, so the next one makes up for it. Every Subscription has its own queue; its owner
// reads it from one goroutine until Next says that the bus was closed and the
// queue is drained.
package event

import (
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Event is one thing that happened. The concrete types are all in this file.
type Event interface {
	// Kind is the event's name in a record: stable, snake case.
	Kind() string
}

// FileID counts a run's files from 0, in the order in which they were named.
type FileID int32

// Batch stands for all files of a batch, which share one scheduler, in its Samples
// and Steps.
const Batch FileID = -1

// LinkInfo describes a link once, when the run begins or the link joins it.
type LinkInfo struct {
	Name string `json:"name"`
	Bind string `json:"bind"` // "device", "address", "android-network" or "index"
	Tech string `json:"tech,omitempty"`
}

// RunStarted is the first event of a run.
type RunStarted struct {
	Version   string     `json:"version"`
	Started   time.Time  `json:"started"`
	Algorithm string     `json:"algorithm"`
	Energy    string     `json:"energy,omitempty"` // the energy policy: "off", "emtcp", "emtcp=SHARE" or "min-energy"
	Links     []LinkInfo `json:"links"`            // a LinkID is an index into this list, longer by those that join
	Files     int        `json:"files"`
}

// FileStarted says that a file's first request is about to be sent.
type FileStarted struct {
	At     scheduler.Time `json:"at"`
	File   FileID         `json:"file"`
	URL    string         `json:"url"` // without user and password
	Output string         `json:"output"`
}

// ObjectKnown says what the server answered to a file's first request.
type ObjectKnown struct {
	At           scheduler.Time `json:"at"`
	File         FileID         `json:"file"`
	EffectiveURL string         `json:"effective_url"` // after redirects, without user and password
	Size         int64          `json:"size"`          // bytes; -1: the server does not say
	Resumed      int64          `json:"resumed"`       // bytes that were on disk before this run
	HTTP         string         `json:"http"`          // "1.1" (also where the server answers with HTTP/1.0) or "2"
	Ranges       bool           `json:"ranges"`        // false: one stream from the first byte on
}

// LinkState is where a link stands in a run.
type LinkState string

// The states a link can be in; they are the report's words.
const (
	LinkUnused LinkState = "unused" // carried nothing
	LinkUsed   LinkState = "used"
	LinkBanned LinkState = "banned" // slow or silent; tried again later
	LinkLost   LinkState = "lost"   // no longer of use to this run
	LinkCapped LinkState = "capped" // its byte allowance is spent
)

// LinkJoined says that a link came during the run. Links join in the order of
// their ids, which go on from those of RunStarted.
type LinkJoined struct {
	At   scheduler.Time   `json:"at"`
	Link scheduler.LinkID `json:"link"`
	Info LinkInfo         `json:"info"`
}

// LinkChanged says that a link changed its state, and why.
type LinkChanged struct {
	At     scheduler.Time   `json:"at"`
	Link   scheduler.LinkID `json:"link"`
	State  LinkState        `json:"state"`
	Reason string           `json:"reason,omitempty"`
}

// ConnOpened says that a link has a new connection.
type ConnOpened struct {
	At     scheduler.Time   `json:"at"`
	Link   scheduler.LinkID `json:"link"`
	Local  string           `json:"local"`
	Remote string           `json:"remote"`
	RTT    time.Duration    `json:"rtt_ns"` // time that the TCP handshake took
}

// RequestStarted says that a range was given to a link.
type RequestStarted struct {
	At    scheduler.Time    `json:"at"`
	File  FileID            `json:"file"`
	Link  scheduler.LinkID  `json:"link"`
	Chunk scheduler.ChunkID `json:"chunk"`
	Off   int64             `json:"off"`
	End   int64             `json:"end"`
}

// Outcome is how a request ended: a small fixed set, fit for a metric's label.
type Outcome string

// The outcomes of a request.
const (
	OutcomeDone      Outcome = "done"      // delivered every byte that was still wanted
	OutcomeCancelled Outcome = "cancelled" // withdrawn by the scheduler
	OutcomeNetwork   Outcome = "network"   // connection or name resolution failed
	OutcomeStatus    Outcome = "status"    // an HTTP error status
	OutcomeProtocol  Outcome = "protocol"  // the response was not what was asked for
	OutcomeTLS       Outcome = "tls"
	OutcomeStorage   Outcome = "storage" // the bytes could not be written
)

// RequestEnded says how a request ended.
type RequestEnded struct {
	At        scheduler.Time    `json:"at"`
	File      FileID            `json:"file"`
	Link      scheduler.LinkID  `json:"link"`
	Chunk     scheduler.ChunkID `json:"chunk"`
	Off       int64             `json:"off"`
	Bytes     int64             `json:"bytes"`  // payload bytes received, waste included
	Wasted    int64             `json:"wasted"` // of these, thrown away; with what has come in vain on its connection before
	Outcome   Outcome           `json:"outcome"`
	Retry     bool              `json:"retry,omitempty"` // what is missing will be asked for again
	Error     string            `json:"error,omitempty"`
	Sent      scheduler.Time    `json:"sent"`
	FirstByte scheduler.Time    `json:"first_byte"` // 0: none of its own came
	LastByte  scheduler.Time    `json:"last_byte"`  // 0: none of its own came
}

// BytesDiscarded says that bytes which had been received over a link, and counted as of use,
// have turned out to be of another object.
type BytesDiscarded struct {
	At    scheduler.Time   `json:"at"`
	File  FileID           `json:"file"`
	Link  scheduler.LinkID `json:"link"`
	Bytes int64            `json:"bytes"`
}

// TCPSegments is what the kernel counted on a link's connections, all files' and
// all there were since the run began. What a system does not count is 0.
type TCPSegments struct {
	In         int64 `json:"in"`
	Out        int64 `json:"out"`
	DataIn     int64 `json:"data_in"`      // of In, those with data
	DataOut    int64 `json:"data_out"`     // of Out, those with data
	Retrans    int64 `json:"retrans"`      // of DataOut, those sent again
	OutOfOrder int64 `json:"out_of_order"` // of DataIn, those that came out of order
}

// LinkSample is a link's share of a Sample; byte counts are cumulative.
type LinkSample struct {
	Bytes     int64         `json:"bytes"`         // payload bytes received, waste included
	Wasted    int64         `json:"wasted"`        // of these, thrown away
	Rate      float64       `json:"rate_bps"`      // bytes per second now
	Bandwidth float64       `json:"bandwidth_bps"` // bytes per second at its best of late
	RTT       time.Duration `json:"rtt_ns"`
	InFlight  int           `json:"in_flight"` // requests

	// These are of the link as a whole, whichever file's sample this is.
	Connections int         `json:"connections"` // open now
	TCP         TCPSegments `json:"tcp"`
}

// Sample is where a file stands, or all of a Batch, several times a second. It may be
// dropped. A file of a batch that is downloaded by itself has samples of its own, the
// first before its requests; the Batch's are of the others, and of what it had of that
// one before.
type Sample struct {
	At    scheduler.Time `json:"at"`
	File  FileID         `json:"file"`
	Size  int64          `json:"size"`            // -1: unknown; of a Batch as far as one knows
	Done  int64          `json:"done"`            // bytes of the file that are there, resumed ones included
	Links []LinkSample   `json:"links"`           // by LinkID: those of RunStarted, behind them those of LinkJoined
	Files []FileSample   `json:"files,omitempty"` // of a Batch, while few are in progress
}

// FileSample is where a file of a Batch stands.
type FileSample struct {
	File  FileID `json:"file"`
	Bytes int64  `json:"bytes"` // payload bytes received, waste included
}

// SchedulerStarted is a file's scheduler's configuration: with the Steps, what a
// replay needs. It is published only when a record is kept; a file that has to
// start over has another.
type SchedulerStarted struct {
	At          scheduler.Time    `json:"at"`
	File        FileID            `json:"file"`
	Algorithm   string            `json:"algorithm"`
	StaticLimit int64             `json:"static_limit"` // bytes
	Padding     float64           `json:"bdp_padding"`  // -1: auto
	Links       int               `json:"links"`
	Size        int64             `json:"size"` // -1: unknown
	Have        []scheduler.Range `json:"have,omitempty"`
	Overlap     float64           `json:"overlap"`
	Window      int64             `json:"window"` // bytes
	NoSteal     bool              `json:"no_steal"`
	NoFailover  bool              `json:"no_failover"`
	Parallelism int               `json:"parallelism"`
	Batch       bool              `json:"batch,omitempty"`   // of many files: as in scheduler.Config
	TLS         bool              `json:"tls,omitempty"`     // as in scheduler.Config
	Limited     bool              `json:"limited,omitempty"` // as in scheduler.Config

	Energy   scheduler.EnergyMode `json:"energy,omitempty"`
	Offload  float64              `json:"offload,omitempty"`  // as in scheduler.Config
	Deadline scheduler.Time       `json:"deadline,omitempty"` // 0: none
}

// Step is one step of a file's scheduler, input and answer: what a replay needs.
// It is published only when a record is kept.
type Step struct {
	At      scheduler.Time     `json:"at"`
	File    FileID             `json:"file"`
	Input   scheduler.Input    `json:"input"`
	Actions []scheduler.Action `json:"actions,omitempty"`
}

// Tuned says how a link's connections are shared out among the files of a batch from
// now on, and why.
type Tuned struct {
	At   scheduler.Time   `json:"at"`
	Link scheduler.LinkID `json:"link"`
	Mode string           `json:"mode"` // "manual", "hat", "eht" or "lowe"
	Plan scheduler.Plan   `json:"plan"`
	Why  string           `json:"why"` // short, for people
	// Watts are what was drawn above base power while that was found out, and WattsSource is
	// "model", or what measured them: "battery", "rapl", ...; none where a mode does not go by
	// power.
	Watts       float64 `json:"watts,omitempty"`
	WattsSource string  `json:"watts_source,omitempty"`
}

// Notice is a message for the person who runs the program.
type Notice struct {
	At      scheduler.Time `json:"at"`
	Warning bool           `json:"warning"` // false: shown with --verbose only
	Text    string         `json:"text"`
	// Shown is what the person sees in the place of Text where that lacks a secret: no record
	// keeps it.
	Shown string `json:"-"`
}

// PowerSource says what the device's power is measured with from now on, or why
// it is not measured. The last one of a run rules.
type PowerSource struct {
	At          scheduler.Time `json:"at"`
	Source      string         `json:"source"` // "battery", "rapl", ...; empty: none
	Interval    time.Duration  `json:"interval_ns"`
	Detail      string         `json:"detail,omitempty"`      // what is read, for people
	Unavailable string         `json:"unavailable,omitempty"` // why there are no readings
}

// Power is a reading of the power that the device draws. It may be dropped.
//
// A gauge tells Watts at an instant. A counter tells Joules, exactly, whatever
// happened to the readings between; its Watts are the mean over the time since
// its last reading, and its first reading, with which Joules begin at 0, has none.
type Power struct {
	At       scheduler.Time `json:"at"`
	Source   string         `json:"source"`
	Watts    float64        `json:"watts"`
	Over     time.Duration  `json:"over_ns,omitempty"` // what Watts are the mean of; 0: an instant
	Counter  bool           `json:"counter,omitempty"`
	Joules   float64        `json:"joules,omitempty"`   // of a counter: since its first reading
	External bool           `json:"external,omitempty"` // on external power: Watts are not what the device draws
	// Still is for how much of Over a counter was seen to stand still, from the last
	// reading on. It may make up for that, or have left it out.
	Still time.Duration `json:"still_ns,omitempty"`
	// Refresh is the time between two looks of a gauge, of several the slowest, as far
	// as its readings have told it; 0: not known.
	Refresh time.Duration `json:"refresh_ns,omitempty"`
}

// HasWatts says whether the reading tells what the device draws: a counter's
// first does not, nor does any on external power.
func (p Power) HasWatts() bool { return !p.External && (!p.Counter || p.Over > 0) }

// Usage is what this process has used of the machine, about once a second. It is
// published only when a record is kept, and may be dropped.
type Usage struct {
	At  scheduler.Time `json:"at"`
	CPU time.Duration  `json:"cpu_ns"`    // user and system time since the process began
	RSS int64          `json:"rss_bytes"` // resident set now; 0: the system does not tell
	// SystemCPU is the time that all processors were busy, whoever they worked for, since a
	// moment before the run; 0: the system does not tell.
	SystemCPU time.Duration `json:"system_cpu_ns,omitempty"`
}

// FileEnded says that a file is complete, or why it is not.
type FileEnded struct {
	At       scheduler.Time `json:"at"`
	File     FileID         `json:"file"`
	Output   string         `json:"output"` // the final name
	Size     int64          `json:"size"`
	ExitCode int            `json:"exit_code"`
	Error    string         `json:"error,omitempty"`
}

// LinkTotals is what the transport of a link counted over the run.
type LinkTotals struct {
	Connections int           `json:"connections"`
	LocalAddr   string        `json:"local_addr"`
	RemoteAddr  string        `json:"remote_addr"`
	RTT         time.Duration `json:"rtt_ns"` // the least seen
	TCP         TCPSegments   `json:"tcp"`
	Reads       int64         `json:"reads,omitempty"` // system calls that took bytes from its connections; 0: not counted
}

// RunEnded is the last event of a run.
type RunEnded struct {
	At       scheduler.Time `json:"at"`
	ExitCode int            `json:"exit_code"`
	Error    string         `json:"error,omitempty"`
	CPU      time.Duration  `json:"cpu_ns"`                       // user and system time of this process
	MaxRSS   int64          `json:"max_rss_bytes"`                // peak resident set
	Switches int64          `json:"voluntary_switches,omitempty"` // voluntary context switches of this process; 0: the system does not tell
	Links    []LinkTotals   `json:"links"`
	Policy   *PolicyTotals  `json:"policy,omitempty"` // of a program that chose the sizes of requests
}

// PolicyTotals is what came of the program that chose the sizes of requests.
type PolicyTotals struct {
	Questions   int64  `json:"questions"`       // how often a size was needed
	LateAnswers int64  `json:"late_answers"`    // of these, how often there was no answer in time
	Fallbacks   int64  `json:"fallbacks"`       // of these, how often the size was Algorithm 3's
	Error       string `json:"error,omitempty"` // why the program was not asked any more
}

// Kind names the event in a record.
func (RunStarted) Kind() string { return "run_started" }

// Kind names the event in a record.
func (FileStarted) Kind() string { return "file_started" }

// Kind names the event in a record.
func (ObjectKnown) Kind() string { return "object_known" }

// Kind names the event in a record.
func (LinkJoined) Kind() string { return "link_joined" }

// Kind names the event in a record.
func (LinkChanged) Kind() string { return "link_changed" }

// Kind names the event in a record.
func (ConnOpened) Kind() string { return "conn_opened" }

// Kind names the event in a record.
func (RequestStarted) Kind() string { return "request_started" }

// Kind names the event in a record.
func (RequestEnded) Kind() string { return "request_ended" }

// Kind names the event in a record.
func (BytesDiscarded) Kind() string { return "bytes_discarded" }

// Kind names the event in a record.
func (Sample) Kind() string { return "sample" }

// Kind names the event in a record.
func (SchedulerStarted) Kind() string { return "scheduler_started" }

// Kind names the event in a record.
func (Step) Kind() string { return "step" }

// Kind names the event in a record.
func (Tuned) Kind() string { return "tuned" }

// Kind names the event in a record.
func (Notice) Kind() string { return "notice" }

// Kind names the event in a record.
func (PowerSource) Kind() string { return "power_source" }

// Kind names the event in a record.
func (Power) Kind() string { return "power" }

// Kind names the event in a record.
func (Usage) Kind() string { return "usage" }

// Kind names the event in a record.
func (FileEnded) Kind() string { return "file_ended" }

// Kind names the event in a record.
func (RunEnded) Kind() string { return "run_ended" }
