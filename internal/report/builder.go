package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/modelled"
	"github.com/mlget/mlget/pkg/scheduler"
)

// maxLinks bounds the link ids that a Builder believes: records come from
// outside, and one event must not be able to fill the memory.
const maxLinks = 1024

// Builder gathers what a report needs from a run's events. Its zero value is
// ready for use.
type Builder struct {
	// Models are the radios' for what is modelled. They must not be changed after
	// the first Add.
	Models energy.Models

	run     event.RunStarted
	started bool            // run is known
	end     *event.RunEnded // nil: the run has not ended
	began   span            // of the first file or request to start, to the last byte
	first   span            // its start: the first byte of an answer
	links   []linkTally
	files   []*fileTally // by their numbers
	moved   int          // bytes of the URLs to which files were redirected
	active  []sampled    // files with samples that have not ended
	tuning  tuningTally
	power   powerTally
	radios  *modelled.Run // nil: no event yet
}

// span is a stretch of a run.
type span struct {
	from, to scheduler.Time
	hasFrom  bool
	hasTo    bool
}

func (s *span) start(at scheduler.Time) {
	if !s.hasFrom || at < s.from {
		s.from, s.hasFrom = at, true
	}
}

func (s *span) stop(at scheduler.Time) {
	if !s.hasTo || at > s.to {
		s.to, s.hasTo = at, true
	}
}

// seconds is the span's length; 0 while it has no start or no end.
func (s *span) seconds() float64 {
	if !s.hasFrom || !s.hasTo || s.to < s.from {
		return 0
	}
	return s.to.Seconds() - s.from.Seconds()
}

// tally holds the counts that links and files share.
type tally struct {
	span
	bytes, wasted     int64
	requests, retries int
}

func (t *tally) ended(e event.RequestEnded) {
	t.bytes += e.Bytes - e.Wasted
	t.wasted += e.Wasted
	if e.Retry {
		t.retries++
	}
	if e.Bytes > e.Wasted {
		t.stop(e.LastByte)
	}
}

func (t *tally) discarded(e event.BytesDiscarded) {
	t.bytes -= e.Bytes
	t.wasted += e.Bytes
}

type linkTally struct {
	tally
	state         event.LinkState
	reason        string        // of the state
	sent          span          // its start: when the first request was sent
	connections   int           // seen to open
	local, remote string        // of the last connection
	rtt           time.Duration // least seen; 0: none
	arrivals      arrivals
	peak          float64 // bytes per second, by the scheduler's rates
	bandwidth     float64 // bytes per second, last estimate
}

func (l *linkTally) sawRTT(d time.Duration) {
	if d > 0 && (l.rtt == 0 || d < l.rtt) {
		l.rtt = d
	}
}

// maxRedirected bounds the bytes of the URLs to which the files of a run were redirected:
// each may be as long as a header, and it is servers that choose them.
const maxRedirected = 32 << 20

// redirected notes where a file came from; "" if that is too long to be kept.
func (b *Builder) redirected(f *fileTally, to string) {
	if f.effectiveURL != f.url {
		b.moved -= len(f.effectiveURL)
	}
	switch {
	case to == f.url:
		f.effectiveURL = f.url // once in memory
	case b.moved+len(to) > maxRedirected:
		f.effectiveURL = ""
	default:
		f.effectiveURL = to
		b.moved += len(to)
	}
}

// fileTally is kept of each file of a run, of which there may be a hundred thousand.
type fileTally struct {
	tally
	id                              event.FileID
	exitCode                        int32
	url, effectiveURL, output, http string
	size, resumed                   int64 // size is -1 while it is unknown
	err                             string
	isEnded                         bool
}

// sampled is the last sample of a file, or of a batch, in which files have none of
// their own.
type sampled struct {
	id    event.FileID
	links []event.LinkSample
}

// Add takes in the next event.
func (b *Builder) Add(e event.Event) {
	if b.radios == nil {
		b.radios = modelled.NewRun(b.Models)
	}
	b.radios.Add(e)
	switch e := e.(type) {
	case event.RunStarted:
		if !b.started {
			b.run, b.started = e, true
			b.run.Links = slices.Clip(e.Links) // others may join: the event's own stay as they are
			b.link(scheduler.LinkID(min(len(e.Links), maxLinks) - 1))
		}
	case event.LinkJoined:
		if b.link(e.Link) != nil && int(e.Link) == len(b.run.Links) {
			b.run.Links = append(b.run.Links, e.Info)
		}
	case event.FileStarted:
		b.began.start(e.At)
		f := b.file(e.File)
		f.start(e.At)
		f.url, f.output = e.URL, e.Output
	case event.ObjectKnown:
		f := b.file(e.File)
		f.http, f.size, f.resumed = e.HTTP, max(e.Size, -1), e.Resumed
		b.redirected(f, e.EffectiveURL)
	case event.LinkChanged:
		if l := b.link(e.Link); l != nil {
			l.state, l.reason = e.State, e.Reason
		}
	case event.ConnOpened:
		if l := b.link(e.Link); l != nil {
			l.connections++
			l.local, l.remote = e.Local, e.Remote
			l.sawRTT(e.RTT)
		}
	case event.RequestStarted:
		b.requestStarted(e)
	case event.RequestEnded:
		b.requestEnded(e)
	case event.BytesDiscarded:
		b.bytesDiscarded(e)
	case event.Sample:
		b.sample(e)
	case event.Tuned:
		b.tuning.add(e)
	case event.PowerSource:
		b.power.source = e
	case event.Power:
		b.power.add(e)
	case event.FileEnded:
		b.fileEnded(e)
	case event.RunEnded:
		b.end = &e
	}
}

// Watch adds every event of sub until the bus is closed.
func (b *Builder) Watch(sub *event.Subscription) {
	for e := range sub.All() {
		b.Add(e)
	}
}

// link gives the tally of link id, or nil where there can be no such link.
func (b *Builder) link(id scheduler.LinkID) *linkTally {
	if id < 0 || id >= maxLinks {
		return nil
	}
	for int(id) >= len(b.links) {
		b.links = append(b.links, linkTally{})
	}
	return &b.links[id]
}

func (b *Builder) file(id event.FileID) *fileTally {
	// Several files begin at once, in any order; the report has the user's.
	at, known := slices.BinarySearchFunc(b.files, id, func(f *fileTally, id event.FileID) int { return cmp.Compare(f.id, id) })
	if known {
		return b.files[at]
	}
	f := &fileTally{id: id, size: -1}
	b.files = slices.Insert(b.files, at, f)
	return f
}

func (b *Builder) requestStarted(e event.RequestStarted) {
	b.began.start(e.At)
	b.file(e.File).requests++
	if l := b.link(e.Link); l != nil {
		l.requests++
		l.start(e.At)
	}
}

func (b *Builder) bytesDiscarded(e event.BytesDiscarded) {
	b.file(e.File).discarded(e)
	if l := b.link(e.Link); l != nil {
		l.discarded(e)
	}
}

func (b *Builder) requestEnded(e event.RequestEnded) {
	b.file(e.File).ended(e)
	if e.FirstByte > 0 {
		b.first.start(e.FirstByte)
	}
	if e.Bytes > e.Wasted {
		b.began.stop(e.LastByte)
	}
	l := b.link(e.Link)
	if l == nil {
		return
	}
	l.ended(e)
	if e.Sent > 0 { // 0: it never was, or the simulator's first
		l.sent.start(e.Sent)
	}
}

// sample takes in the rates of the links. Each file has its own samples; a
// link's rate is the sum over the files that are in progress.
func (b *Builder) sample(e event.Sample) {
	if len(e.Links) > maxLinks || e.File != event.Batch && b.file(e.File).isEnded {
		return
	}
	at := slices.IndexFunc(b.active, func(s sampled) bool { return s.id == e.File })
	if at < 0 {
		at, b.active = len(b.active), append(b.active, sampled{id: e.File})
	}
	b.active[at].links = e.Links
	for i, s := range e.Links {
		l := b.link(scheduler.LinkID(i)) // at most maxLinks
		l.sawRTT(s.RTT)
		l.arrivals.add(e.At, s.TCP)
		rate, bandwidth := 0.0, 0.0
		for _, other := range b.active {
			if i < len(other.links) {
				rate += other.links[i].Rate
				bandwidth += other.links[i].Bandwidth
			}
		}
		l.peak = max(l.peak, rate)
		if bandwidth > 0 {
			l.bandwidth = bandwidth
		}
	}
}

func (b *Builder) fileEnded(e event.FileEnded) {
	f := b.file(e.File)
	f.exitCode, f.err = int32(e.ExitCode), e.Error
	if e.Output != "" && e.Output != f.output {
		f.output = e.Output
	}
	if e.ExitCode == 0 && e.Size >= 0 {
		f.size = e.Size
		if f.bytes == 0 {
			f.resumed = f.size // it was found to be there
		}
	}
	f.isEnded = true
	b.active = slices.DeleteFunc(b.active, func(s sampled) bool { return s.id == e.File })
}
