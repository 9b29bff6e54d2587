package fetch

import "time"

// How far a server may run ahead of the reading of a stream is bounded by the
// stream's window. Data of a stream that is being read needs no memory of ours,
// whatever the window: it waits in the kernel, where TCP bounds it. The window
// bounds what must be kept of a stream that nobody reads while others are read.
// It must never be what limits a link, so it follows, and stays ahead of, the
// bytes that come within a round trip (the bandwidth-delay product).
const (
	// firstWindow is that of a stream on a new connection: ten times the largest
	// first flight of a server that one meets.
	firstWindow = 256 << 10
	// maxWindow fills 220 Mbit/s at 300 ms twice over; the kernel's receive
	// buffers, 6 MiB on most systems, end sooner.
	maxWindow = 16 << 20
	// headroom is the window in round trips' worth of bytes. TCP's slow start
	// doubles those from each round trip to the next, and news of a larger window
	// takes half of one to arrive.
	headroom = 8
	// shortRound is what a round trip counts for at least: queues on the way, and
	// pauses of ours, do not get shorter with it.
	shortRound = 50 * time.Millisecond
	// connWindow is that of all streams together; it bounds nothing, as each
	// stream has a bound of its own.
	connWindow = 1 << 30
)

// pace measures how many bytes come within a round trip, and derives the window.
type pace struct {
	window int64 // bytes; it never shrinks

	rtt   time.Duration // the least that was seen; 0: none yet
	since time.Time     // when the current round trip began
	got   int64         // payload bytes in it
	base  int64         // window at its beginning
}

func newPace() pace { return pace{window: firstWindow, base: firstWindow} }

// sample is told of a time that was no shorter than a round trip. The
// handshake's will not do: on mobile networks a proxy near by may have made it.
func (f *pace) sample(d time.Duration) {
	if d = max(d, time.Microsecond); f.rtt == 0 || d < f.rtt {
		f.rtt = d
	}
}

// received is told of n payload bytes. The window at most doubles within a round
// trip, which keeps pace with slow start, so that the burst after a pause of ours
// is not taken for the link's rate.
func (f *pace) received(now time.Time, n int64) {
	if f.rtt == 0 {
		return
	}
	if now.Sub(f.since) >= f.rtt {
		f.since, f.got, f.base = now, 0, f.window
	}
	f.got += n
	want := headroom * float64(f.got) * max(1, float64(shortRound)/float64(f.rtt))
	f.window = max(f.window, min(int64(min(want, maxWindow)), 2*f.base))
}

// grantLocked is by how many bytes to widen the stream's window now: rarely, so
// that updates are few, and never for bytes that will not come or are not wanted.
// mu is held.
func (s *h2Stream) grantLocked() int64 {
	if s.ended || s.header == nil || s.cause != nil {
		return 0
	}
	window := s.hc.pace.window
	grant := window - s.credit - s.unread.size()
	if grant < window/4 {
		return 0
	}
	if s.left >= 0 {
		grant = max(0, min(grant, s.left-s.surplus-s.credit))
	}
	s.credit += grant
	return grant
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
