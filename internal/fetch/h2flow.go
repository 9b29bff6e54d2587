package fetch

import "time"

// A stream's window bounds how far a server may run ahead of the stream's reader. A stream that
// is being read needs no memory here, whatever its window: data waits in the kernel, where TCP
// bounds it. The window bounds the memory for streams that are not read while others are. It
// must never limit a link, so it follows, and stays ahead of, the bytes that arrive within a
// round trip (the bandwidth-delay product).
const (
	// leastWindow is that of a stream at least.
	leastWindow = 64 << 10
	// firstWindow is that of a stream on a new connection: ten times the largest
	// first flight of a server that one meets.
	firstWindow = 256 << 10
	// maxWindow fills 220 Mbit/s at 300 ms twice over; the kernel's receive
	// buffers, 6 MiB on most systems, end sooner.
	maxWindow = 16 << 20
	// headroom is the window in round trips' worth of bytes, and twice that while they
	// grow: TCP's slow start doubles those from each round trip to the next, and news of
	// a larger window takes half of one to arrive.
	headroom = 4
	// exactHeadroom takes its place where TCP tells what a round trip takes. A PING is
	// answered behind all that the server has been allowed to send and has not sent yet:
	// by that, a wide window seems to be needed as it is, and those grow to what servers
	// keep for a connection, which a link that becomes slow has to bring first.
	exactHeadroom = 3
	// exactFall is by which part of it such a window shrinks in a round trip.
	exactFall = 8
	// shortRound is the least round trip to assume: queues on the path and pauses of this
	// process do not shrink with it.
	shortRound = 25 * time.Millisecond
	// pingRest is between two PINGs, and fallRest where the rate has fallen to half of
	// what it was at the latest. Servers take more for an attack, and hang up: Apache
	// Traffic Server from sixty a minute on, others from four a second or a thousand in all.
	pingRest = 5 * time.Second
	fallRest = time.Second
	// connWindow is that of all streams together; it bounds nothing, as each
	// stream has a bound of its own.
	connWindow = 1 << 30
)

// pace measures how many bytes arrive within a round trip, and derives the window. The window
// grows with them at once. It shrinks as well, since a server sends all that it was granted,
// wanted or not, until it hears that the stream is reset: a little in each round trip where TCP
// reports how long one is, elsewhere only by the bytes between a PING and its answer, which
// take as long as the news of a wider window, however long the path has become.
type pace struct {
	window int64 // bytes

	rtt     time.Duration // by the latest PING; before, the least that was seen; 0: none yet
	since   time.Time     // when the current round trip began
	got     int64         // payload bytes in it
	base    int64         // window at its beginning
	before  int64         // payload bytes in the one before
	growing bool          // half as many again as in the one before that

	trip time.Duration // of the data that comes, queues included, as TCP has it; 0: not known

	asked   time.Time // when the latest PING was sent; zero: none was
	waiting bool      // for its answer
	flight  int64     // payload bytes since, or until the answer came
}

func newPace() pace { return pace{window: firstWindow, base: firstWindow, growing: true} }

// sample takes a time that was no shorter than a round trip. The handshake's will not do: on
// mobile networks a nearby proxy may have made it.
func (f *pace) sample(d time.Duration) {
	if d = max(d, time.Microsecond); f.asked.IsZero() && (f.rtt == 0 || d < f.rtt) {
		f.rtt = d
	}
}

// received counts n payload bytes. The window grows at most fourfold within a round trip, so
// that the burst after a pause of this process is not taken for the link's rate.
func (f *pace) received(now time.Time, n int64) {
	if f.waiting {
		f.flight += n
	}
	round, ahead := f.rtt, int64(headroom)
	if f.trip > 0 {
		round, ahead = f.trip, exactHeadroom
	}
	if round == 0 {
		return
	}
	if now.Sub(f.since) >= max(round, shortRound) {
		f.growing = f.since.IsZero() || 2*f.got > 3*f.before
		if f.trip > 0 && !f.growing {
			f.window = min(f.window, max(leastWindow, ahead*max(f.got, f.before), f.window-f.window/exactFall))
		}
		f.since, f.before, f.got, f.base = now, f.got, 0, f.window
	}
	f.got += n
	want := ahead * f.got
	if f.growing {
		want *= 2
	}
	f.window = max(f.window, min(want, 4*f.base, maxWindow))
}

// ask reports whether to send a PING: when slow start is over, and then now and then.
func (f *pace) ask(now time.Time) bool {
	rest := now.Sub(f.asked)
	fell := rest >= fallRest && 2*f.before < f.flight
	if f.trip > 0 || f.waiting || f.rtt == 0 || f.growing || rest < pingRest && !fell {
		return false
	}
	f.asked, f.waiting, f.flight = now, true, 0
	return true
}

// answered notes the PING's answer. There may have been a pause meanwhile, as after a lost
// packet: the window shrinks to no less than a quarter.
func (f *pace) answered(now time.Time) {
	if !f.waiting {
		return
	}
	if f.waiting = false; f.trip > 0 {
		return // by now something better is known
	}
	f.rtt = max(now.Sub(f.asked), time.Microsecond)
	f.flight = int64(float64(f.flight) * max(1, float64(shortRound)/float64(f.rtt)))
	f.window = max(min(headroom*f.flight, maxWindow), f.window/4, leastWindow)
	f.since, f.before, f.got, f.base = now, f.flight, 0, f.window
}

// grantLocked is by how many bytes to widen the stream's window now: rarely, so
// that updates are few, and never for bytes that will not come or are not wanted; and
// whether to send a PING: over a link that has become slow there may be nothing to grant for
// seconds. mu is held.
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
	return grant, pace.ask(now)
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

// setTrip sets the round trip of arriving data, by TCP.
func (s *h2Stream) setTrip(d time.Duration) {
	s.hc.mu.Lock()
	defer s.hc.mu.Unlock()
	s.hc.pace.trip = d
}

// shorten notes that the last surplus bytes of the body are not wanted: what the
// server may not send it need not be stopped from sending.
func (s *h2Stream) shorten(surplus int64) {
	s.hc.mu.Lock()
	defer s.hc.mu.Unlock()
	s.surplus = surplus
}
