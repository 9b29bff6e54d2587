package sim

import (
	"math"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	mss = 1448 // bytes of payload in a full packet with timestamps
	// initialWindow is how much a connection sends before the first
	// acknowledgement (RFC 6928: ten packets).
	initialWindow = 10 * mss
	// headerBytes is the size of a response's header.
	headerBytes = 300
	// cubicCut is what CUBIC leaves of its window after a loss, and
	// cubicGrowth the packets by which the window grows in a round trip
	// without one, where it keeps to what Reno would get (RFC 9438, 4.3: 3(1-β)/(1+β)).
	// On average that gives MSS/RTT * sqrt(3/2)/sqrt(p), as in Mathis, Semke,
	// Mahdavi and Ott, ACM CCR 27(3), 1997, equation 3.
	cubicCut    = 0.7
	cubicGrowth = 0.53
	// leastRTO is Linux's least retransmission timeout.
	leastRTO = 200 * scheduler.Millisecond
	// synRTO is the timeout of a connection's first packet (RFC 6298).
	synRTO = scheduler.Second
	// knocks and stagger are how many sockets of a dial try in all, and how far apart at
	// least: see internal/link. lateTrips is how many round trips they are, if that is more.
	knocks    = 3
	stagger   = 250 * scheduler.Millisecond
	lateTrips = 3
	// parkTime is how long a response waits at most, as in the engine.
	parkTime = 3 * scheduler.Second
	// smallRest is up to how many bytes the fetcher reads and drops of a
	// response that nobody wants any more, rather than lose the connection.
	smallRest = 64 << 10
	// depth bounds the requests on a connection, as in the fetcher.
	depth = 8
	// tiny is less than a byte by more than rounding errors amount to.
	tiny = 1e-3
)

// request is a range on its way. Its response is header and then body.
type request struct {
	chunk  scheduler.ChunkID // NoChunk: bytes on the wire that nobody wants any more
	link   scheduler.LinkID
	stream scheduler.StreamID
	asked  int64 // bytes of the body as the server sends it
	wanted int64 // bytes of the body up to the end of the chunk
	copy   bool  // another fetches the same bytes; of use only if it is finished
	file   int   // of a batch
	base   int64 // the address at which the piece begins that it belongs to

	sent     scheduler.Time // when it was given to its connection
	avail    scheduler.Time // when the first byte can be here
	done     float64        // bytes received, header included
	answered bool           // its header has been reported
	told     int64          // bytes of the body that the scheduler knows of
	progress scheduler.Time // when told last changed
	over     bool           // the scheduler counts on it no more
	spent    bool           // its connection ends with it
	dropped  bool           // nobody reads it, but it stands before others
	parked   scheduler.Time // since when its response waits for another link's, with which it should agree; 0: it does not
}

// got is how much of the body has been received.
func (q *request) got() int64 {
	if q.parked > 0 {
		return 0
	}
	return max(0, min(int64(q.done-headerBytes+tiny), q.wanted))
}

// target is the next count of bytes at which something happens.
func (q *request) target() float64 {
	switch {
	case q.chunk == scheduler.NoChunk:
		return float64(q.wanted)
	case q.parked > 0:
		return math.MaxFloat64
	case q.dropped && q.asked <= smallRest:
		return float64(headerBytes + q.asked)
	case q.dropped || !q.answered:
		return headerBytes
	}
	return float64(headerBytes + q.wanted)
}

func (q *request) reached() bool { return q.done >= q.target()-tiny }

// conn is a TCP connection.
type conn struct {
	stream   scheduler.StreamID
	started  scheduler.Time // its first packet
	ready    scheduler.Time // when requests can be sent; Never while its link is down
	shook    scheduler.Time // how long its handshake takes, as one would measure it
	told     bool           // the scheduler knows of its handshake
	closing  bool           // nothing more may queue behind what it has
	ghost    bool           // closed; what is on the wire has still to arrive
	window   float64        // bytes per round trip while it starts slowly
	open     bool           // the window does not bound it any more
	roundEnd scheduler.Time
	roundGot float64        // bytes since the round began
	lastData scheduler.Time // when it last received something
	lost     bool           // it has lost a packet: no slow start any more
	heldTill scheduler.Time // a lost packet holds back those behind it until then
	queue    []*request

	rate float64 // bytes per second in the present piece, each stream's
	n    int     // streams in the present piece
}

// streams is how many of its requests receive bytes now: the ones at the head
// of the queue that have arrived, or, side by side, any.
func (c *conn) streams(now scheduler.Time, sideBySide bool) (n int) {
	for _, q := range c.queue {
		if q.avail <= now {
			n++
		}
		if !sideBySide {
			break
		}
	}
	return n
}

// spent says that the window has been received, and the next one takes until
// the end of the round: slow start comes in bursts, a round trip apart.
func (c *conn) spent() bool { return c.roundGot >= c.window-tiny }

// nextRound doubles a connection's window after a round trip in which it was used
// (slow start: RFC 5681, 3.1), and lets it grow slowly once a packet was lost. On
// a link that loses none, the window stops to matter once it is far above what
// the link has at its best.
func (l *link) nextRound(now scheduler.Time, c *conn) {
	most := float64(2 * l.fastest * l.rtt.Seconds())
	bounded := l.receive > 0 && l.receive < most
	switch {
	case l.crowded && l.dropped(now, c):
	case l.crowded:
		c.grow()
	case l.loses(c.roundGot / mss):
		l.disorder += float64(c.roundGot / (2 * mss)) // those behind the lost one, on average
		c.lost = true
		c.window = max(2*mss, float64(cubicCut*c.window))
	case c.roundGot < c.window/2: // it was not used
	case c.lost:
		c.window = min(c.window+cubicGrowth*mss, most)
	default:
		c.window = float64(2 * c.window)
	}
	if c.window > most && l.capacity.loss == 0 && !bounded && !l.crowded {
		c.open = true
	}
	c.window = min(c.window, max(initialWindow, 2*most))
	if bounded {
		c.window = min(c.window, l.receive)
	}
	c.roundGot = 0
	c.roundEnd = now + l.rtt
}

// loses throws the dice for so many packets.
func (l *link) loses(packets float64) bool {
	if l.capacity.loss == 0 {
		return false
	}
	all := 1.0
	for range int(packets) {
		all *= 1 - l.capacity.loss
	}
	return l.dice.Float64() >= all
}

// restart halves the window for every timeout that the connection has been idle
// (Linux: tcp_cwnd_restart, after RFC 2861).
func (c *conn) restart(now, rtt scheduler.Time, fastest float64) {
	rto := leastRTO + rtt
	for idle := now - c.lastData; idle > rto && c.lastData > 0; idle -= rto {
		if c.open {
			c.window = min(c.window, fastest*rtt.Seconds())
			c.open = false
		}
		if c.window = c.window / 2; c.window <= initialWindow {
			c.window = initialWindow
			break
		}
	}
}

// connects is when the first packet of a dial that began at sent gets through to a link
// that has come up at up; known says that it is known how soon it answers.
func connects(sent, up, rtt scheduler.Time, known bool) scheduler.Time {
	at := retry(sent, up, synRTO)
	for k := scheduler.Time(1); known && k < knocks; k++ {
		at = min(at, retry(sent+k*max(stagger, lateTrips*rtt), up, synRTO))
	}
	return at
}

// retry is when a packet that was first sent at sent, and again after timeouts
// that double, is sent for the first time at up or later.
func retry(sent, up, rto scheduler.Time) scheduler.Time {
	at := sent
	for at < up {
		at += rto
		rto *= 2
	}
	return at
}
