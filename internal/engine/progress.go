package engine

import (
	"context"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// lossEvery is how often connections are asked for signs of loss.
const lossEvery = 40 * scheduler.Millisecond

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
