// Package modelled says what a run's links cost in energy, by the model of the
// radio behind each and by the bytes and segments of the run's events. Nothing
// here was measured: callers must call these figures modelled.
//
// Contract: a Run is one watcher of events and belongs to one goroutine. It
// believes no event further than arithmetic goes, since records of runs come
// from outside. A Sampler watches with a goroutine of its own until the bus is
// closed, and publishes with another until it is stopped; its methods may be
// called from any.
package modelled

import (
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Bounds of what is believed, so that no sum can overflow.
const (
	maxLinks = 1024
	maxTime  = scheduler.Time(1) << 52 // 52 days
	maxBytes = int64(1) << 60
	maxConns = 512
)

// headers is what a segment's IPv4 and TCP headers take, timestamps included, in
// bytes [RFC 791, 9293, 7323]. A radio carries them, too.
const headers = 20 + 32

// Run takes in the events of a run. Make one with NewRun.
type Run struct {
	models energy.Models
	links  []linkRun
	last   scheduler.Time // of the last payload byte of all links
	heard  scheduler.Time // of the last event that told of traffic
	ended  bool
}

// linkRun is one link in the course of a run.
type linkRun struct {
	name    string
	known   bool // there is a model for it
	radio   energy.Radio
	machine energy.Machine
	files   map[event.FileID]int64 // payload bytes by each file's last sample
	told    int64                  // payload bytes that the machine knows of
	got     int64                  // payload bytes of requests that have ended
	last    scheduler.Time         // of the last payload byte
	asking  int                    // requests that are under way
	conns   int
	tcp     event.TCPSegments
}

// NewRun begins a run whose radios are described by models.
func NewRun(models energy.Models) *Run { return &Run{models: models} }

// Add takes in the next event.
func (r *Run) Add(e event.Event) {
	switch e := e.(type) {
	case event.RunStarted:
		r.start(e)
	case event.LinkJoined:
		if int(e.Link) == len(r.links) && len(r.links) < maxLinks && !r.ended {
			r.join(e.Info, e.At)
		}
	case event.RequestStarted:
		r.hear(e.At)
		if l := r.link(int(e.Link)); l != nil {
			if l.asking == 0 {
				// Nobody was owed anything until now: what comes has come since.
				l.machine.Step(when(e.At), 0, 0, l.conns)
			}
			l.asking++
		}
	case event.RequestEnded:
		r.hear(e.At)
		if l := r.link(int(e.Link)); l != nil {
			l.asking = max(0, l.asking-1)
			l.got = min(l.got+clamp(e.Bytes), maxBytes)
			if e.Bytes > 0 {
				l.last = max(l.last, e.LastByte)
				r.last = max(r.last, e.LastByte)
			}
		}
	case event.Sample:
		r.hear(e.At)
		for i := range e.Links {
			if l := r.link(i); l != nil {
				l.sample(e.At, e.File, &e.Links[i])
			}
		}
	case event.RunEnded:
		r.end(e)
	}
}

// start makes the links.
func (r *Run) start(e event.RunStarted) {
	if r.links != nil {
		return
	}
	for _, info := range e.Links[:min(len(e.Links), maxLinks)] {
		r.join(info, 0)
	}
}

// join makes a link, whose radio is idle until then.
func (r *Run) join(info event.LinkInfo, at scheduler.Time) {
	l := linkRun{name: info.Name, files: map[event.FileID]int64{}}
	l.radio, l.known = r.models.Of(info.Name, info.Tech)
	l.machine = energy.NewMachine(l.radio, when(at))
	r.links = append(r.links, l)
}

// hear notes that until at it is known what has crossed.
func (r *Run) hear(at scheduler.Time) {
	if !r.ended {
		r.heard = min(max(r.heard, at), maxTime)
	}
}

// link is the one of that id, or nil where there is none, or all is over.
func (r *Run) link(id int) *linkRun {
	if r.ended || id < 0 || id >= len(r.links) {
		return nil
	}
	return &r.links[id]
}

// sample tells the radio what has crossed it since the last sample.
func (l *linkRun) sample(at scheduler.Time, file event.FileID, s *event.LinkSample) {
	now := clamp(s.Bytes)
	fresh := max(0, now-l.files[file])
	l.files[file] = now
	l.conns = min(max(s.Connections, 0), maxConns)
	l.step(at, fresh, s.TCP)
}

// step lets time go by until at, with fresh payload bytes and the segments that
// make tcp.
func (l *linkRun) step(at scheduler.Time, fresh int64, tcp event.TCPSegments) {
	fresh = min(fresh, maxBytes-l.told)
	l.told += fresh
	in, out := l.segments(tcp)
	l.machine.Step(when(at), fresh+headers*in, headers*out, l.conns)
}

// segments takes over counters, and returns how many segments are new.
func (l *linkRun) segments(tcp event.TCPSegments) (in, out int64) {
	before := l.tcp
	for _, c := range []struct {
		sum *int64
		now int64
	}{
		{&l.tcp.In, tcp.In},
		{&l.tcp.Out, tcp.Out},
		{&l.tcp.DataIn, tcp.DataIn},
		{&l.tcp.DataOut, tcp.DataOut},
		{&l.tcp.Retrans, tcp.Retrans},
	} {
		*c.sum = max(*c.sum, min(c.now, maxBytes/headers))
	}
	return l.tcp.In - before.In, l.tcp.Out - before.Out
}

// end brings all links to the last byte of the run. Samples may have been
// dropped; the requests know how much came.
func (r *Run) end(e event.RunEnded) {
	if r.ended {
		return
	}
	for i := range r.links {
		l := &r.links[i]
		tcp := l.tcp
		if i < len(e.Links) {
			tcp = e.Links[i].TCP
		}
		if rest := max(0, l.got-l.told); rest > 0 {
			l.step(l.last, rest, tcp)
		} else {
			l.segments(tcp)
		}
		l.machine.Step(when(r.last), 0, 0, l.conns)
	}
	r.ended = true
}

// Link is what the model says of one link.
type Link struct {
	Name       string
	Model      string  // the radio's name; empty: there is none for this link, and no Joules
	Source     string  // where the model's numbers come from
	IdleWatts  float64 // what the radio draws when idling
	Joules     float64 // above idling, from the start to the last payload byte of the run
	TailJoules float64 // above idling, after that, until the radio is idle
	TCPJoules  float64 // TCP's work on the processor; 0 where the kernel did not count segments
}

// Links is what each link has cost so far, or cost until the run ended.
func (r *Run) Links() []Link {
	cost := r.models.TCP()
	list := make([]Link, len(r.links))
	for i := range r.links {
		l := &r.links[i]
		list[i].Name = l.name
		if l.tcp.DataIn > 0 {
			list[i].TCPJoules = cost.Joules(energy.Segments{
				In: l.tcp.In, Out: l.tcp.Out, DataIn: l.tcp.DataIn, DataOut: l.tcp.DataOut, Retrans: l.tcp.Retrans,
			}.Counts())
		}
		if !l.known {
			continue
		}
		now := l.machine.Energy()
		tail := l.machine
		tail.Step(tail.IdleAt(), 0, 0, 0)
		list[i].Model, list[i].Source, list[i].IdleWatts = l.radio.Name, l.radio.Source, l.radio.Idle/1e3
		list[i].Joules, list[i].TailJoules = now.Dynamic, tail.Energy().Sub(now).Dynamic
	}
	return list
}

// Spent is what all radios of which there is a model have drawn since the run
// began, idling included, in J, and until when that is known: as long as anything
// is asked for, until the last event that told of traffic; else until now.
func (r *Run) Spent(now scheduler.Time) (at scheduler.Time, joules float64) {
	at = max(now, r.heard)
	for i := range r.links {
		if r.links[i].asking > 0 && !r.ended {
			at = r.heard
		}
	}
	for i := range r.links {
		if l := &r.links[i]; l.known {
			ahead := l.machine
			ahead.Step(when(at), 0, 0, l.conns)
			joules += ahead.Energy().Total()
		}
	}
	return at, joules
}

func clamp(bytes int64) int64 { return min(max(bytes, 0), maxBytes) }

func when(t scheduler.Time) int64 { return int64(min(max(t, 0), maxTime)) }

// modelled says whether there is a model for any link.
func (r *Run) modelled() bool {
	for i := range r.links {
		if r.links[i].known {
			return true
		}
	}
	return false
}
