package engine

import (
	"context"
	"math/bits"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// tuneEvery is how often the tuner looks at what there is.
const tuneEvery = 250 * scheduler.Millisecond

// tuner runs the algorithm by which a batch shares out its links' connections.
type tuner struct {
	*tuning.Tuner
	mode     tuning.Mode
	next     scheduler.Time
	received [scheduler.MaxClasses]int64 // bytes, by class
	links    []tuning.LinkView
	changes  []tuning.Change
}

func newTuner(spec *Batch, links int) (tuner, error) {
	t, err := tuning.New(tuning.Config{
		Mode: spec.Mode, Links: links, Concurrency: spec.Concurrency, Parallelism: spec.Parallelism,
	})
	return tuner{Tuner: t, mode: spec.Mode, links: make([]tuning.LinkView, links)}, err
}

// tune has the tuner decide, and tells the scheduler what it has chosen.
func (b *batch) tune(reqs context.Context, now scheduler.Time) {
	t := &b.tuner
	if now < t.next {
		return
	}
	t.next = now + tuneEvery
	b.lookAtStreams(now)
	o := tuning.Observation{Links: t.links, Received: t.received, Joules: -1}
	spent, measured := b.e.spent()
	if measured {
		o.Joules, o.SpentAt, o.Every = spent.Joules, spent.Until, spent.Every
	}
	for i := range t.links {
		l, status := &b.links[i], b.core.Link(scheduler.LinkID(i))
		t.links[i] = tuning.LinkView{
			Up:   l.there && !l.lost() && !l.use.resting,
			Rate: status.Rate, Bandwidth: status.Bandwidth, RTT: status.RTT, Trip: l.conns.dataRTT, Streams: bits.OnesCount64(l.conns.busy),
			Power: powerOf(&b.e.links[i].terms.Radio),
		}
	}
	for _, f := range b.files {
		if f.state == running || f.state == deferred {
			o.Files[f.class]++
			o.Left[f.class] += max(0, b.likely(f)-f.got)
		}
	}
	if b.supply.jobs != nil {
		class := t.Class(-1)
		o.Files[class] += int(b.jobsAhead())
		o.Left[class] += b.bytesToCome()
	}
	t.changes = t.Step(now, o, t.changes[:0])
	for i := range t.changes {
		c := &t.changes[i]
		plan := c.Plan
		b.step(reqs, scheduler.Input{Kind: scheduler.Planned, Link: c.Link, Plan: &plan})
		e := event.Tuned{At: now, Link: c.Link, Mode: t.mode.String(), Plan: plan, Why: c.Why, Watts: c.Watts}
		switch {
		case c.Watts <= 0:
		case c.Measured:
			e.WattsSource = spent.Source
		default:
			e.WattsSource = modelSource
		}
		b.e.cfg.Bus.Publish(e)
	}
}

// modelSource is the source of power that was not measured.
const modelSource = "model"

// powerOf is the model of a link's radio as the tuner has it.
func powerOf(r *scheduler.Radio) tuning.Power {
	return tuning.Power{Watts: r.ActiveMW / 1e3, WattsPerMbps: r.MWPerMbps / 1e3, WattsPerConnection: r.MWPerConnection / 1e3}
}

// spareTime is for how long a connection stays open that the scheduler no longer uses. An open one costs
// energy: its server's keep-alives may wake the radio.
const spareTime = 500 * scheduler.Millisecond

// lookAtStreams notes which connections have requests in flight, and closes those
// that are not wanted any more.
func (b *batch) lookAtStreams(now scheduler.Time) {
	for id := range b.links {
		b.links[id].conns.busy = 0
	}
	for _, t := range b.transfers {
		b.links[t.link].conns.busy |= 1 << t.stream
	}
	for id := range b.links {
		l, r := &b.links[id], b.e.routes[id]
		for s := scheduler.StreamID(b.core.Link(scheduler.LinkID(id)).Streams); s < scheduler.MaxStreams; s++ {
			if r.clients[s] != nil && (l.conns.busy|l.conns.opened)&(1<<s) == 0 && now-l.conns.lastByte[s] > spareTime {
				r.drop(s)
			}
		}
	}
}

// likelyMost bounds the size that an index may tell of a file before its server does (1 TiB),
// with room for the sum over eight million files.
const likelyMost = addressMost >> 10

// likely is how many bytes a file has, as far as one knows.
func (b *batch) likely(f *file) int64 {
	switch {
	case f.size >= 0:
		return f.size
	case f.job.Size > 0:
		return min(f.job.Size, likelyMost)
	}
	return b.supply.sizes.mean()
}

// bytesToCome is how many bytes the jobs have that are still to be read, as far as one knows.
func (b *batch) bytesToCome() int64 {
	mean := b.supply.sizes.mean()
	return min(b.jobsAhead(), addressMost/mean) * mean
}

// jobsAhead is how many jobs are still to be read, one at least.
func (b *batch) jobsAhead() int64 {
	if b.spec.Ahead == nil {
		return 1
	}
	return max(1, b.spec.Ahead.Load())
}
