package tuning

import "github.com/mlget/mlget/pkg/scheduler"

const (
	// full is what part of the most that a link has shown counts as all of it.
	full = 0.95
	// waits is how many times the least round trip a round trip of the data takes when
	// it has to wait for the link, other delays aside.
	waits = 1.05
	// more is by what factor twice the connections must raise a link's rate for
	// still more to be tried.
	more = 1.25
	// folding is how many round trips a job must still last for one connection to be
	// given up, and half of it for two. When connections go, those that stay have
	// windows for their part of the link alone; until these have grown, which under
	// CUBIC takes some five round trips' worth of the link, the device draws what it
	// draws for nothing: 1.1 W against 62 mW saved, and somewhat more to be sure.
	folding = 120
	// lastTrial is how many of the shortest windows a job must still last for another
	// number of connections to be tried.
	lastTrial = 5
)

// fill finds out how few connections fill a link: BDP/buf, where buf is what one
// connection has in flight, which nobody tells. It begins with a few. Half of them
// are tried as long as the rate stays the same and the job lasts long enough, twice
// as many as long as that makes it faster, but not where data waits for the link
// already: new connections make a full queue overflow, and cost seconds. Where
// connections bound the rate, their number follows from what each brings.
type fill struct {
	n      int // connections at present; 0: not begun
	least  int
	upward bool    // more are tried first
	rate   float64 // the most so far, in bytes per second
	wide   int     // the most connections that were tried
	good   int     // the fewest that did as well; 0: none yet
	one    float64 // bytes per second of a connection by itself; 0: not known
	enough int     // the result; 0: not yet
	short  bool    // there was no time to find out more
	steady steady
}

// begin starts with n connections.
func (f *fill) begin(n, least int, upward bool) {
	*f = fill{n: n, least: least, upward: upward}
}

// step takes what the link has received at now, and gives how many connections it
// should have. v is what is known of the link, and left how long the job still lasts.
func (f *fill) step(now mark, v *LinkView, left scheduler.Time) int {
	window := shortest(v.RTT)
	switch {
	case left < lastTrial*window:
		f.stop()
		return f.n
	case v.Streams > f.n: // those that are to go finish what they were asked for
		f.steady.begin()
		return f.n
	case !f.steady.watch(now, window, growing):
		return f.n
	}
	rate, most := f.steady.rate, useful(v.product())
	if f.good > 0 && f.n < f.good && rate < full*f.rate && f.steady.doubt() {
		return f.n
	}
	f.steady.begin()
	switch {
	case f.wide == 0:
		f.rate, f.wide, f.good = rate, f.n, f.n
		if f.upward && 2*f.n <= most && !v.queues() {
			f.n *= 2
			break
		}
		f.fewer(v.RTT, left)
	case f.n > f.wide:
		f.grown(rate, most, v.RTT, left)
	case rate >= full*f.rate: // as much with fewer
		f.rate, f.good = max(f.rate, rate), f.n
		f.fewer(v.RTT, left)
	default:
		f.one = rate / float64(f.n)
		if f.rate < full*f.one*float64(f.wide) || 2*f.wide > most {
			f.end(most)
			break
		}
		f.n = 2 * f.wide
	}
	return f.n
}

// grown judges a number of connections that is larger than all before.
func (f *fill) grown(rate float64, most int, rtt, left scheduler.Time) {
	half, before := f.wide, f.rate
	rises := rate >= more*before
	f.rate, f.wide = max(rate, before), f.n
	switch {
	case rises && f.one == 0:
		f.one = before / float64(half)
	case !rises && f.one == 0: // they fill it, or fewer do
		f.n = f.good
		f.fewer(rtt, left)
		return
	}
	if rises && 2*f.n <= most {
		f.n *= 2
		return
	}
	f.end(most)
}

// fewer goes on with half of the connections, if that pays.
func (f *fill) fewer(rtt, left scheduler.Time) {
	gone := f.n - f.n/2
	if f.n/2 < f.least || left < folding*rtt/scheduler.Time(gone) {
		f.enough = f.good
		return
	}
	f.n /= 2
}

// stop ends the search with what is known to do: the job is nearly over.
func (f *fill) stop() {
	if f.good == 0 {
		f.good = f.n
	}
	f.enough, f.n, f.short = f.good, f.good, true
}

// end takes what a connection brings for what it brings in any number.
func (f *fill) end(most int) {
	f.enough = max(f.least, min(most, ceil(full*f.rate, f.one)))
	f.n = f.enough
}
