package engine

import (
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// sampleEvery is how often observers are told where a download stands.
const sampleEvery = 200 * scheduler.Millisecond

// sampled is where the last sample stood.
type sampled struct {
	at   scheduler.Time
	got  int64   // by wholeBy
	rate float64 // of wholeBy, bytes per second
}

func (o *owner) changed(id scheduler.LinkID, s event.LinkState, reason string) {
	o.e.cfg.Bus.Publish(event.LinkChanged{At: o.e.now(), Link: id, State: s, Reason: reason})
	if s != event.LinkUsed || reason != "" {
		o.e.notice(s == event.LinkLost, "%s: %s: %s", o.e.links[id].Name(), s, reason)
	}
}

// sample tells observers where the download stands.
func (d *download) sample() {
	s := event.Sample{At: d.e.now(), File: d.job.ID, Size: d.size(), Links: d.sampleLinks()}
	if d.singleStream {
		d.sampleSingleStream(&s)
	} else if s.Size >= 0 {
		s.Done = s.Size - d.core.Left() - d.unclaimed()
	}
	d.sampled.at = s.At
	d.e.cfg.Bus.Publish(s)
}

// sampleLinks is what each link has brought and is doing.
func (o *owner) sampleLinks() []event.LinkSample {
	links := make([]event.LinkSample, o.linkCount())
	for id := range links {
		status, shared := o.core.Link(scheduler.LinkID(id)), o.e.links[id]
		segments, open := shared.segments.lately(o.e.now())
		links[id] = event.LinkSample{
			Bytes: o.links[id].traffic.received, Wasted: o.links[id].traffic.wasted,
			Rate: status.Rate, Bandwidth: status.Bandwidth,
			RTT: time.Duration(shared.leastRTT(nil)), InFlight: status.Requests,
			Connections: open, TCP: segments,
		}
	}
	for _, t := range o.transfers {
		links[t.link].Bytes += t.got.Load()
	}
	for i := range links {
		if links[i].InFlight == 0 { // the scheduler's rate is its last one
			links[i].Rate = 0
		}
	}
	return links
}

// sampleSingleStream adds what the scheduler, which has no part in it, cannot know of
// an object that is read as one stream.
func (d *download) sampleSingleStream(s *event.Sample) {
	for i := range s.Links {
		s.Links[i].Rate, s.Links[i].Bandwidth, s.Links[i].InFlight = 0, 0, 0
	}
	if d.single.by == nil {
		d.sampled.got = 0
		return
	}
	got := d.single.by.got.Load()
	if age := s.At - d.sampled.at; age >= sampleEvery/2 {
		d.sampled.rate = float64(max(0, got-d.sampled.got)) / age.Seconds()
		d.sampled.got = got
	}
	s.Done = got
	s.Links[d.single.by.link].Rate = d.sampled.rate
	if !d.complete {
		s.Links[d.single.by.link].InFlight = 1
	}
}
