package sim

import (
	"slices"

	"github.com/mlget/mlget/pkg/scheduler"
)

// send puts a request on a connection, as the fetcher would: on the one that is
// there, on a new one when that is about to end or there is none, or it waits.
func (l *link) send(now scheduler.Time, q *request) {
	most, live := 1, 0
	for _, c := range l.conns {
		if c.ghost || c.stream != q.stream {
			continue
		}
		live++
		switch {
		case c.closing:
			most = 2
		case l.http2 || len(c.queue) < l.depth:
			l.enqueue(now, c, q)
			return
		}
	}
	if live >= most {
		l.waiting = append(l.waiting, q)
		return
	}
	l.enqueue(now, l.dial(now, q.stream), q)
}

// open makes a stream's connection, on which requests may follow.
func (l *link) open(now scheduler.Time, stream scheduler.StreamID) {
	there := func(c *conn) bool { return !c.ghost && !c.closing && c.stream == stream }
	if !slices.ContainsFunc(l.conns, there) {
		l.dial(now, stream)
	}
}

func (l *link) dial(now scheduler.Time, stream scheduler.StreamID) *conn {
	l.touch(now)
	c := &conn{stream: stream, started: now, window: initialWindow, ready: now + l.handshake*l.rtt, shook: l.rtt + l.standing()}
	if l.down() {
		c.ready = scheduler.Never
	} else if l.rampOnConnect && l.capacity.ramp > 0 {
		l.wake(now)
	}
	l.conns = append(l.conns, c)
	l.count.Connections++
	return c
}

func (l *link) enqueue(now scheduler.Time, c *conn, q *request) {
	if len(c.queue) == 0 && !l.down() {
		c.restart(now, l.rtt, l.fastest)
	}
	l.touch(now)
	q.sent, q.done = now, 0
	if q.avail = scheduler.Never; c.ready != scheduler.Never {
		q.avail = max(now, c.ready) + l.rtt
		if l.crowded && len(c.queue) == 0 {
			q.avail += l.queueing()
		}
	}
	c.queue = append(c.queue, q)
	c.closing = c.closing || l.single
}

// resume sends what has waited for a connection.
func (l *link) resume(now scheduler.Time) {
	waiting := l.waiting
	l.waiting = nil
	for _, q := range waiting {
		l.send(now, q)
	}
}

// onWire is how many bytes of a connection that ends now are still going to
// arrive: half of the bottleneck's buffer is full, as it is on average under a
// congestion control that fills and halves, and what the server sends until it
// hears of the end.
func (l *link) onWire(c *conn, rest float64) float64 {
	if c.n == 0 {
		return 0
	}
	most := (l.buffer/2 + l.rtt/2).Seconds() * l.capacity.bps
	if !c.open {
		most = min(most, c.window)
	}
	return max(0, min(rest, most))
}

// kill closes a connection because of one of its requests. The others are sent again.
func (l *link) kill(now scheduler.Time, c *conn, cause *request) {
	rest := 0.0
	for _, q := range c.queue {
		rest += float64(headerBytes+q.asked) - q.done
	}
	wire := int64(l.onWire(c, rest))
	l.drop(func(o *conn) bool { return o == c })
	if wire > 0 && !l.down() {
		l.conns = append(l.conns, &conn{ghost: true, open: true, queue: []*request{leftOver(now, wire)}})
	}
	for _, q := range c.queue {
		if q != cause && !q.dropped {
			l.send(now, q)
		}
	}
	l.resume(now)
}

// leftOver stands for bytes that arrive and are of no use.
func leftOver(now scheduler.Time, bytes int64) *request {
	return &request{chunk: scheduler.NoChunk, avail: now, wanted: bytes}
}

// leave takes a request from its connection after its last byte, or when nobody
// wants it any more while it is being received. What of its response has not
// been received costs the connection, or the stream.
func (l *link) leave(now scheduler.Time, c *conn, q *request) {
	rest := float64(headerBytes+q.asked) - q.done
	switch {
	case rest >= 1 && (!l.http2 || q.spent):
		l.kill(now, c, q)
		return
	case rest >= 1 && q.avail <= now && !l.down():
		if wire := int64(l.onWire(c, rest)); wire > 0 {
			c.queue = append(c.queue, leftOver(now, wire))
		}
	}
	l.remove(c, q)
	l.resume(now)
}

func (l *link) remove(c *conn, q *request) {
	c.queue = slices.DeleteFunc(c.queue, func(o *request) bool { return o == q })
	if len(c.queue) == 0 && (c.ghost || c.closing) {
		l.drop(func(o *conn) bool { return o == c })
	}
}

// shorten notes that the end of a response is not wanted: nothing queues behind it any more.
func (l *link) shorten(now scheduler.Time, q *request) {
	if l.http2 || !q.answered || q.wanted >= q.asked {
		return
	}
	for _, c := range l.conns {
		if slices.Contains(c.queue, q) {
			c.closing = true
		}
	}
	l.resume(now)
}

// withdraw gives up a request. stalled says that its connection is of no use.
func (l *link) withdraw(now scheduler.Time, q *request, stalled bool) {
	l.waiting = slices.DeleteFunc(l.waiting, func(o *request) bool { return o == q })
	for _, c := range l.conns {
		i := slices.Index(c.queue, q)
		switch {
		case i < 0:
			continue
		case stalled && i > 0:
			l.remove(c, q)
			l.kill(now, c, c.queue[0])
		case stalled, i == 0 && !l.http2:
			l.kill(now, c, q)
		case l.http2:
			l.leave(now, c, q)
		default: // it stands in the queue until its turn
			q.dropped = true
			c.closing = c.closing || q.asked > smallRest
		}
		return
	}
}
