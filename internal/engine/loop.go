package engine

import (
	"context"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// checkpointEvery is how much progress, in time, a crash may cost.
	checkpointEvery = scheduler.Second
	// lossEvery is how often connections are asked for signs of loss.
	lossEvery = 40 * scheduler.Millisecond
	// idleWake bounds how long the owner sleeps, so that stalls are seen.
	idleWake = 250 * scheduler.Millisecond
)

// loop drives the scheduler until the object is complete, whole is the way to
// get it, or something is wrong.
func (d *download) loop(ctx, reqs context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.err == nil && !d.finished() && !d.singleStream {
		now := d.e.now()
		timer.Reset(d.waker.set(now, d.nextWake(now), d.core.NextDue()))
		select {
		case <-d.waker.bell:
		case m := <-d.messages:
			d.hear(reqs, m)
		case err := <-d.checkpoint.done:
			d.checkpoint.running = false
			d.fail(err)
		case <-d.to.stream().moved():
			d.fail(d.to.stream().failed())
			d.step(reqs, scheduler.Input{Kind: scheduler.Drained, Bytes: d.to.stream().Drained()})
		case <-timer.C:
		case <-ctx.Done():
			d.fail(context.Cause(ctx))
			return
		}
		d.lookAround(reqs)
	}
}

// finished says whether every byte is there and known to be the object's.
func (d *download) finished() bool {
	return d.complete && d.proven() && d.sizeBelieved(d.e.now())
}

// nextWake is until when nothing but a message can be of interest.
func (o *owner) nextWake(now scheduler.Time) scheduler.Time {
	return max(now, min(o.core.NextWake(), now+idleWake))
}

// lookAround reads the counters, lets the scheduler think, and sees to what
// happens now and then.
func (d *download) lookAround(reqs context.Context) {
	if d.err != nil {
		return
	}
	now := d.e.now()
	d.update(reqs, now)
	d.watchStalls(now)
	d.settleDoubts(reqs, now)
	d.cancelWithdrawn()
	d.compareOverlaps(reqs, now)
	if d.complete {
		d.ask(reqs, now)
	}
	d.tellOverlap(reqs)
	d.release()
	d.sampleSometimes(now)
	if !d.checkpoint.running && now >= d.checkpoint.next && d.identified && d.sizeBelieved(now) && !d.singleStream && d.to.stream() == nil {
		d.checkpoint.next = now + checkpointEvery
		d.checkpoint.running = true
		done := d.claimable()
		go func() { d.checkpoint.done <- d.to.Checkpoint(done) }()
	}
	if err := d.allLost(); err != nil && !d.trySingleStream() {
		d.fail(err)
	}
}

// toldOfStrays notes that the scheduler knows of so many bytes that came in vain for a
// client: any of its transfers could tell of them, and one does.
func (o *owner) toldOfStrays(c *fetch.Client, bytes int64) {
	for _, t := range o.transfers {
		if t.client == c {
			t.inVain = bytes
		}
	}
}

// count tells the scheduler what a transfer has received since last time.
func (o *owner) count(reqs context.Context, t *transfer) {
	got := t.got.Load()
	trip := scheduler.Time(0)
	if o.core.RTT(t.link) == 0 { // its handshake tells before any byte does
		trip = o.e.links[t.link].roundTrip(nil)
	}
	shook, shakes := scheduler.Time(0), o.e.links[t.link].handshakes.count.Load()
	if shakes != o.links[t.link].conns.handshakes {
		shook = scheduler.Time(o.e.links[t.link].handshakes.latest.Load())
	}
	vain := t.client.InVain()
	stray := vain - t.inVain
	if t.released || t.probe || got == t.reported && trip == 0 && shook == 0 && t.behind == 0 && stray == 0 {
		return
	}
	o.links[t.link].conns.handshakes = shakes
	in := scheduler.Input{
		Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, Bytes: got, RTT: trip,
		Handshake: scheduler.Time(o.e.links[t.link].handshakes.least.Load()), Shook: shook, Trip: o.links[t.link].conns.dataRTT, Behind: t.behind, Stray: stray,
	}
	t.behind = 0
	if stray > 0 {
		o.toldOfStrays(t.client, vain)
	}
	if got != t.reported { // they are held against the bytes, which come when the gap is filled
		in.Reordered = o.links[t.link].traffic.reordered
		o.came(reqs, t, got)
	}
	o.step(reqs, in)
}

// lookAtConnections counts the packets that came out of order on them, and learns what a
// round trip takes their data, queues included.
func (o *owner) lookAtConnections(now scheduler.Time) {
	if now-o.looks.connections < lossEvery {
		return
	}
	o.looks.connections = now
	for i := range o.links {
		l, sum, n := &o.links[i], scheduler.Time(0), scheduler.Time(0)
		for _, t := range o.transfers {
			if int(t.link) != i || t.resp == nil || t.released {
				continue
			}
			g := o.e.routes[i].look(t.stream, t.resp.Conn())
			l.traffic.reordered += g.disorder
			t.behind, l.conns.windows[t.stream] = g.behind, g.window
			if g.trip > 0 {
				t.resp.Trip(time.Duration(g.trip))
				sum, n = sum+g.trip, n+1
			}
		}
		if n > 0 {
			l.conns.dataRTT = sum / n
			l.uplink.watch(now, l.conns.dataRTT, o.core.RTT(scheduler.LinkID(i)), l.traffic.reordered)
		}
	}
}

// came notes that a transfer of a scheduled request has got so many bytes.
func (o *owner) came(reqs context.Context, t *transfer, got int64) {
	o.gain(t, got)
	if t.file != nil {
		t.file.b.continueExisting(reqs, t)
	}
}

// gain notes that a transfer has got so many bytes.
func (o *owner) gain(t *transfer, got int64) {
	now := o.e.now()
	o.useful.total += got - t.reported
	o.links[t.link].faults.gained += got - t.reported
	o.links[t.link].uplink.bytes += got - t.reported
	o.links[t.link].conns.delivered |= 1 << t.stream
	o.links[t.link].traffic.lastByte = now
	o.e.load.received(t.link, now)
	o.links[t.link].conns.lastByte[t.stream] = now
	if t.file != nil {
		t.file.receive(got - t.reported)
	}
	t.reported, t.progress = got, now
	t.reportedAt = scheduler.Time(t.lastByte.Load())
}

// oversleeping is how long nobody has to have looked for stalls to tell that this
// process was not running: it was stopped, or the machine was suspended.
const oversleeping = scheduler.Second

// slept is for how long the process was not running since it was last asked: nothing
// could be received, and nobody's silence counts.
func (o *owner) slept(now scheduler.Time) scheduler.Time {
	gap := now - o.looks.stalls
	if o.looks.stalls = now; gap < oversleeping {
		return 0
	}
	return gap
}

// watchStalls gives up requests that are owed bytes and get none. What stands
// behind another in its connection's queue is owed none yet, and the consumer of
// a stream may take its time.
func (d *download) watchStalls(now scheduler.Time) {
	limit := scheduler.Time(d.e.cfg.StallTimeout)
	if limit <= 0 {
		return
	}
	slept := d.slept(now)
	for _, t := range d.transfers {
		if t.waits.Load() || d.inDoubt(t) {
			t.progress = now
		}
		if slept > 0 {
			t.progress = min(now, max(t.progress, d.links[t.link].traffic.lastByte)+slept)
		}
		if now-max(t.progress, d.links[t.link].traffic.lastByte) > limit {
			t.cancel(fetch.ErrStalled)
		}
	}
}
