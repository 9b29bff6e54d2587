// Package metrics shows a run to Prometheus: over HTTP while it runs, in a file for
// node_exporter's textfile collector, and to a Pushgateway at its end. What the metrics mean is
// in docs/metrics.md.
//
// Each Run has a registry of its own. Simple counts are kept in the registry's instruments as
// events come in; values that follow from several events, such as the bytes received, are
// computed at each scrape.
//
// Contract: a Run is fed by one goroutine, or by one for each download of a queue (Follow), and
// may be read by any number of others meanwhile. A Server's goroutines have ended when Close
// returns; the other functions start none that outlive them.
package metrics

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// maxLinks bounds the link ids that are believed.
const maxLinks = 1024

// Run is a run's present state, in numbers. Its bytes are those of the report: at the end of
// the run, a link's received bytes less its wasted ones are its bytes in the report.
type Run struct {
	version  string
	registry *prometheus.Registry
	instruments

	mu    sync.Mutex
	links []*link                // by id; two of the same name are one
	files map[event.FileID]*file // in progress; Batch: all that have no samples of their own
	past  span                   // of the files that have ended
	gone  int64                  // of the batch's Done, what is of files that have ended or have samples of their own
	sized bool                   // the size of a file is known
	power map[string]*power

	endless  bool  // it is a queue's: it has no Link Δ
	followed int32 // downloads so far: see Follow

	started   time.Time // zero: the run has not begun
	algorithm string
	count     int // of links that it began with
	over      bool
	exitCode  int
	latest    scheduler.Time // time of the latest event
	interval  time.Duration  // between readings of power
}

// link holds a link's counts.
type link struct {
	name     string
	received int64 // payload bytes of requests that have ended, waste included
	kept     bool  // it has received what was not thrown away
	last     scheduler.Time
	rtt      time.Duration // 0: unknown
}

// file is a file in progress, or a batch.
type file struct {
	span
	known  bool // its size is
	alone  bool // it has samples of its own
	links  []event.LinkSample
	ended  []int64 // by link: payload bytes of requests that have ended
	useful int64   // of these, not thrown away
}

// span is a size and how much of it is there, in bytes.
type span struct{ size, done int64 }

// power holds a source's readings.
type power struct {
	watts  float64
	has    bool // watts are what the device draws now
	at     scheduler.Time
	joules float64

	first    scheduler.Time
	lost     scheduler.Time // time since then of which no reading tells
	interval time.Duration  // between readings; 0: unknown
}

// quietIntervals is after how many intervals without a reading the time counts as unknown:
// repetitions are published every five (internal/power).
const quietIntervals = 6

// quiet is how much of the time without a reading is unknown.
func (p *power) quiet(d scheduler.Time) scheduler.Time {
	if p.interval <= 0 || d <= quietIntervals*scheduler.Time(p.interval) {
		return 0
	}
	return d - scheduler.Time(p.interval)
}

// covered is the share of the time up to now that readings cover.
func (p *power) covered(now scheduler.Time) (share float64, known bool) {
	all := now - p.first
	if all <= 0 {
		return 0, false
	}
	return 1 - float64(p.lost+p.quiet(now-p.at))/float64(all), true
}

// New begins a run of mlget version, built by goVersion.
func New(version, goVersion string) *Run {
	registry := prometheus.NewRegistry()
	r := &Run{
		version: version, registry: registry, instruments: newInstruments(registry),
		files: map[event.FileID]*file{event.Batch: {}}, power: map[string]*power{},
	}
	r.build.WithLabelValues(version, goVersion).Set(1)
	registry.MustRegister(r)
	return r
}

// ShowProcess adds the metrics of Go's runtime and of this process: go_* and process_*.
// It must be called at most once.
func (r *Run) ShowProcess() {
	r.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Watch takes in every event of sub until the bus is closed.
func (r *Run) Watch(sub *event.Subscription) {
	for e := range sub.All() {
		r.Add(e)
	}
}

// Add takes in the next event.
func (r *Run) Add(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case event.RunStarted:
		r.begin(e)
		for _, l := range e.Links {
			r.join(l.Name)
		}
	case event.LinkJoined:
		if int(e.Link) == len(r.links) {
			r.join(e.Info.Name)
			r.tellInfo()
		}
	case event.LinkChanged:
		if l := r.link(e.Link); l != nil {
			up := 0.0
			if e.State == event.LinkUsed || e.State == event.LinkUnused {
				up = 1
			}
			r.up.WithLabelValues(l.name).Set(up)
		}
	case event.ConnOpened:
		if l := r.link(e.Link); l != nil && l.rtt == 0 {
			r.rttIs(l, e.RTT)
		}
	case event.FileStarted:
		r.files[e.File] = &file{}
	case event.ObjectKnown:
		if f := r.files[e.File]; f != nil {
			f.done = e.Resumed
			f.sizeIs(e.Size)
		}
	case event.RequestEnded:
		r.requestEnded(e)
	case event.BytesDiscarded:
		r.bytesDiscarded(e)
	case event.Sample:
		r.sample(e)
	case event.PowerSource:
		r.interval = e.Interval
	case event.Power:
		r.powerRead(e)
	case event.FileEnded:
		r.fileEnded(e)
	case event.RunEnded:
		r.runEnded(e)
	}
}

// begin takes in what the run is.
func (r *Run) begin(e event.RunStarted) {
	r.started = e.Started
	r.algorithm, r.count = strings.ToValidUTF8(e.Algorithm, "\ufffd"), len(e.Links)
	r.tellInfo()
}

// tellInfo replaces the run's info metric: links may have joined.
func (r *Run) tellInfo() {
	r.info.Reset()
	r.info.WithLabelValues(r.algorithm, strconv.Itoa(max(r.count, len(r.links))), r.version).Set(1)
}

// join adds a link. The kernel has no two interfaces of one name, but events from elsewhere
// may, and a page must not have a metric twice.
func (r *Run) join(name string) {
	if len(r.links) >= maxLinks {
		return
	}
	name = strings.ToValidUTF8(name, "\ufffd")
	if i := slices.IndexFunc(r.links, func(l *link) bool { return l.name == name }); i >= 0 {
		r.links = append(r.links, r.links[i])
		return
	}
	r.links = append(r.links, &link{name: name})
	r.wasted.WithLabelValues(name)
	for _, o := range outcomes() {
		r.requests.WithLabelValues(name, string(o))
	}
	r.durations.WithLabelValues(name)
	r.up.WithLabelValues(name).Set(1)
}

// outcomes are all the ways in which a request can end.
func outcomes() []event.Outcome {
	return []event.Outcome{
		event.OutcomeCancelled, event.OutcomeDone, event.OutcomeNetwork, event.OutcomeProtocol,
		event.OutcomeStatus, event.OutcomeStorage, event.OutcomeTLS,
	}
}

func (r *Run) link(id scheduler.LinkID) *link {
	if id < 0 || int(id) >= len(r.links) {
		return nil
	}
	return r.links[id]
}

func (r *Run) requestEnded(e event.RequestEnded) {
	l := r.link(e.Link)
	if l == nil {
		return
	}
	l.received += e.Bytes
	r.wasted.WithLabelValues(l.name).Add(float64(e.Wasted))
	if e.Bytes > e.Wasted {
		l.kept = true
		l.last = max(l.last, e.LastByte)
	}
	r.requests.WithLabelValues(l.name, string(e.Outcome)).Inc()
	if e.Sent > 0 && e.At >= e.Sent { // 0: it was withdrawn before
		r.durations.WithLabelValues(l.name).Observe((e.At - e.Sent).Seconds())
	}
	f := r.files[e.File]
	if f != nil {
		f.requestEnded(e)
	}
	if f == nil || !f.alone {
		r.files[event.Batch].requestEnded(e)
	}
}

func (r *Run) bytesDiscarded(e event.BytesDiscarded) {
	if l := r.link(e.Link); l != nil {
		r.wasted.WithLabelValues(l.name).Add(float64(e.Bytes))
	}
	f := r.files[e.File]
	if f != nil {
		f.useful -= e.Bytes
	}
	if f == nil || !f.alone {
		r.files[event.Batch].useful -= e.Bytes
	}
}

func (f *file) requestEnded(e event.RequestEnded) {
	for len(f.ended) <= int(e.Link) {
		f.ended = append(f.ended, 0)
	}
	f.ended[e.Link] += e.Bytes
	f.useful += e.Bytes - e.Wasted
}

func (r *Run) sample(e event.Sample) {
	f := r.files[e.File]
	if f == nil {
		return
	}
	r.latest = max(r.latest, e.At)
	f.links, f.done = e.Links, max(e.Done, 0)
	if e.File != event.Batch { // a batch's size includes files that are not known yet
		f.sizeIs(e.Size)
		r.leave(f)
	}
	for i, s := range e.Links {
		l := r.link(scheduler.LinkID(min(i, maxLinks)))
		if l == nil {
			return
		}
		r.rttIs(l, s.RTT)
		bandwidth := 0.0
		for _, other := range r.files {
			if i < len(other.links) {
				bandwidth += other.links[i].Bandwidth
			}
		}
		if bandwidth > 0 {
			r.bandwidth.WithLabelValues(l.name).Set(bandwidth)
		}
	}
}

func (r *Run) rttIs(l *link, rtt time.Duration) {
	if rtt > 0 {
		l.rtt = rtt
		r.rtt.WithLabelValues(l.name).Set(rtt.Seconds())
	}
}

// leave removes f from the files without samples of their own. Its first sample counts the
// requests that have ended, unless it had them as one of a batch.
func (r *Run) leave(f *file) {
	if f.alone {
		return
	}
	f.alone = true
	r.gone += f.useful
	batch := r.files[event.Batch]
	for i, bytes := range f.ended {
		if i < len(f.links) && f.links[i].Bytes >= bytes {
			batch.ended[i] -= bytes
		} else {
			f.ended[i] = 0
		}
	}
}

func (f *file) sizeIs(size int64) {
	if size >= 0 {
		f.size, f.known = size, true
	}
}

// powerRead takes in a reading. A counter tells joules; what a gauge tells is a
// straight line between its readings, as in the report.
func (r *Run) powerRead(e event.Power) {
	source := strings.ToValidUTF8(e.Source, "\ufffd")
	p := r.power[source]
	if p == nil {
		p = &power{first: e.At, at: e.At}
		r.power[source] = p
	}
	p.interval = r.interval
	r.latest = max(r.latest, e.At)
	switch {
	case e.At < p.at:
	case e.External, !e.Counter && !p.has: // of what the device draws that says nothing
		p.lost += e.At - p.at
	case !e.Counter: // which misses nothing
		p.lost += p.quiet(e.At - p.at)
	}
	had, watts := p.has, p.watts
	p.has, p.watts = e.HasWatts(), e.Watts
	if p.has {
		r.watts.WithLabelValues(source).Set(p.watts)
	} else {
		r.watts.DeleteLabelValues(source)
	}
	switch {
	case e.Counter:
		p.joules = max(p.joules, e.Joules)
	case had && p.has && e.At > p.at:
		p.joules += max((watts+e.Watts)/2*(e.At-p.at).Seconds(), 0)
	}
	p.at = e.At
}

func (r *Run) fileEnded(e event.FileEnded) {
	f := r.files[e.File]
	if f == nil {
		return
	}
	if e.File == event.Batch {
		return
	}
	delete(r.files, e.File)
	if !f.alone {
		r.gone += f.useful
	}
	if e.ExitCode == 0 {
		f.sizeIs(e.Size)
		f.done = f.size
	}
	if f.known {
		r.sized = true
		r.past.size += f.size
		r.past.done += min(f.done, f.size)
	}
}

func (r *Run) runEnded(e event.RunEnded) {
	r.over, r.exitCode = true, e.ExitCode
	r.latest = max(r.latest, e.At)
	for i, t := range e.Links {
		if l := r.link(scheduler.LinkID(min(i, maxLinks))); l != nil {
			r.rttIs(l, t.RTT)
		}
	}
}
