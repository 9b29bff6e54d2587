package engine

import (
	"context"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// lossEvery is how often connections are asked for signs of loss.
	lossEvery = 40 * scheduler.Millisecond
	// lossAtOnce is about how many of a link are asked each time: where there are more, each less often.
	lossAtOnce = 8
)

// count tells the scheduler what a transfer has received since it was last told.
func (o *owner) count(reqs context.Context, t *transfer) {
	l, link := &o.links[t.link], o.e.links[t.link]
	least, latest, made := link.handshakes()
	in := scheduler.Input{
		Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, Bytes: t.got.Load(),
		Handshake: scheduler.Time(least), Trip: l.conns.dataRTT, Behind: t.behindGap,
	}
	if o.core.Link(t.link).RTT == 0 { // its handshake tells before any byte does
		in.RTT = link.leastRTT(nil)
	}
	if made != l.conns.handshakes {
		in.Shook = scheduler.Time(latest)
	}
	if t.released || t.probe || in.Bytes == t.reported && in.RTT == 0 && in.Shook == 0 && in.Behind == 0 {
		return
	}
	l.conns.handshakes, t.behindGap = made, 0
	if in.Bytes != t.reported { // packets out of order are told with bytes, which come when the gap is filled
		in.Reordered = l.traffic.reordered
		o.received(reqs, t, in.Bytes)
	}
	o.step(reqs, in)
}

// lookAtConnections asks the kernel how many packets came out of order on the connections, and for the
// round trip of their data, queues included.
func (o *owner) lookAtConnections(now scheduler.Time) {
	if now-o.looks.connections < lossEvery {
		return
	}
	o.looks.connections = now
	for i := range o.links {
		l, sum, n := &o.links[i], scheduler.Time(0), scheduler.Time(0)
		for _, t := range o.transfers {
			if int(t.link) != i || t.resp == nil || t.released || now < l.conns.asked[t.stream]+scheduler.Time(o.looks.reading[i]/lossAtOnce)*lossEvery {
				continue
			}
			l.conns.asked[t.stream] = now
			g := o.e.routes[i].look(t.stream, t.resp.Conn())
			l.traffic.reordered += g.reordered
			t.behindGap, l.conns.windows[t.stream] = g.behindGap, g.window
			if g.dataRTT > 0 {
				t.resp.Trip(time.Duration(g.dataRTT))
				sum, n = sum+g.dataRTT, n+1
			}
		}
		if n > 0 {
			l.conns.dataRTT = sum / n
			l.uplink.watch(now, l.conns.dataRTT, o.core.Link(scheduler.LinkID(i)).RTT, l.traffic.reordered)
		}
	}
}

// received notes that a transfer has received got bytes.
func (o *owner) received(reqs context.Context, t *transfer, got int64) {
	now, l, fresh := o.e.now(), &o.links[t.link], got-t.reported
	o.useful.total += fresh
	l.faults.gained += fresh
	l.uplink.bytes += fresh
	l.conns.delivered |= 1 << t.stream
	l.traffic.lastByte, l.conns.lastByte[t.stream] = now, now
	o.e.load.over[t.link].byte.Store(int64(now))
	t.reported, t.progress = got, now
	t.reportedAt = scheduler.Time(t.lastByte.Load())
	if t.file != nil {
		t.file.receive(fresh)
		t.file.b.continueExisting(reqs, t)
	}
}
