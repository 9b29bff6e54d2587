package fetch

import "time"

// How far a server may run ahead of the reading of a stream is bounded by the
// stream's window. Data of a stream that is being read needs no memory of ours,
// whatever the window: it waits in the kernel, where TCP bounds it. The window
// bounds what must be kept of a stream that nobody reads while others are read.
// It must never be what limits a link, so it follows, and stays ahead of, the
// bytes that come within a round trip (the bandwidth-delay product).
const (
	// leastWindow is that of a stream at least.
	leastWindow = 64 << 10
	// firstWindow is that of a stream on a new connection: ten times the largest
	// first flight of a server that one meets.
	firstWindow = 256 << 10
	// maxWindow fills 220 Mbit/s at 300 ms twice over; the kernel's receive
	// buffers, 6 MiB on most systems, end sooner.
	maxWindow = 16 << 20
	// headroom is the window in round trips' worth of bytes. TCP's slow start
	// doubles those from each round trip to the next, and news of a larger window
	// takes half of one to arrive.
	headroom = 4
	// shortRound is what a round trip lasts at least, as we count it: pauses of ours
	// do not get shorter with it.
	shortRound = 25 * time.Millisecond
	// pingRest is between the beginnings of two rounds where the window does not grow
	// fast: servers take many PINGs for an attack (Jetty once took twenty a second).
	pingRest = 100 * time.Millisecond
	// connWindow is that of all streams together; it bounds nothing, as each
	// stream has a bound of its own.
	connWindow = 1 << 30
)

// pace measures how many bytes come within a round trip, and derives the window. A
// round begins with a PING and ends with its answer, so that it is as long as news of
// a wider window takes to have effect, however long that has become meanwhile: the
// handshake's round trip will not do, nor the least that was seen. What a server has
// been granted it sends, wanted or not, until it hears that the stream is reset: so
// the window shrinks, too.
type pace struct {
	window int64 // bytes

	since    time.Time // when the latest round began
	got      int64     // payload bytes in it
	base     int64     // window at its beginning
	asking   bool      // the round has not ended
	answered bool      // its PING has been
	before   int64     // payload bytes in the latest one that has ended
	growing  bool      // half as many again as in the one before it, or there was none
}

func newPace() pace { return pace{window: firstWindow, growing: true} }

// ask reports whether to send a PING, with which a round begins. granting says that
// there is something to send anyway.
func (f *pace) ask(now time.Time, granting bool) bool {
	if f.asking || !f.growing && (!granting || now.Sub(f.since) < pingRest) {
		return false
	}
	f.since, f.got, f.base, f.asking, f.answered = now, 0, f.window, true, false
	return true
}

// received is told of n payload bytes. The window grows at once, at most fourfold in a
// round, so that the burst after a pause of ours is not taken for the link's rate; it
// shrinks by a quarter at the end of one.
func (f *pace) received(now time.Time, n int64) {
	if f.asking && f.answered && now.Sub(f.since) >= shortRound {
		f.asking = false
		f.growing, f.before = 2*f.got > 3*f.before, f.got
		f.window = max(f.wanted(), f.window*3/4, leastWindow)
	}
	if f.asking {
		f.got += n
		f.window = max(f.window, f.wanted())
	}
}

// wanted is the window for what has come in the round.
func (f *pace) wanted() int64 {
	rounds := int64(headroom)
	if f.growing {
		rounds *= 2
	}
	return min(rounds*f.got, 4*f.base, maxWindow)
}

// grantLocked is by how many bytes to widen the stream's window now: rarely, so
// that updates are few, and never for bytes that will not come or are not wanted; and
// whether to send a PING. mu is held.
func (s *h2Stream) grantLocked(now time.Time) (grant int64, ping bool) {
	if s.ended || s.header == nil || s.cause != nil {
		return 0, false
	}
	pace := &s.hc.pace
	if grant = pace.window - s.credit - s.unread.size(); grant < pace.window/4 {
		grant = 0
	}
	if s.left >= 0 {
		grant = max(0, min(grant, s.left-s.surplus-s.credit))
	}
	s.credit += grant
	ping = (s.left < 0 || s.left > leastWindow) && pace.ask(now, grant > 0)
	return grant, ping
}

// certain is how many payload bytes will come whatever we do: the server owes them, and
// may send them. Half of the window is left out, lest a server wait for a wide one.
func (hc *h2Conn) certain() int64 {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	n := int64(0)
	for _, s := range hc.streams {
		if s.header != nil && !s.ended {
			n += max(0, min(s.left-s.surplus, s.credit/2))
		}
	}
	return n
}

func (s *h2Stream) gather(n int64) {
	s.hc.mark.want(n)
	s.hc.in.tls.gather(n)
}

// shorten notes that the last surplus bytes of the body are not wanted: what the
// server may not send it need not be stopped from sending.
func (s *h2Stream) shorten(surplus int64) {
	s.hc.mu.Lock()
	defer s.hc.mu.Unlock()
	s.surplus = surplus
}
