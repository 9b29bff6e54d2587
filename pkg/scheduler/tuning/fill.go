package tuning

import "github.com/mlget/mlget/pkg/scheduler"

const (
	// full is what part of the most that a link has shown counts as all of it.
	full = 0.95
	// more is by what factor twice the connections must raise a link's rate for
	// still more to be tried.
	more = 1.25
)

// fill finds out how few connections fill a link: BDP/buf, where buf is what one
// connection has in flight, which nobody tells. It begins with a few, which also
// start faster than one; then halves them as long as the rate stays the same. When
// it does not, the connections are what bounds it, and their number follows from
// what each brings. If they are bounded to begin with, it doubles them first.
type fill struct {
	n      int // connections at present; 0: not begun
	least  int
	rate   float64 // the most so far, in bytes per second
	wide   int     // the most connections that were tried
	good   int     // the fewest that did as well; 0: none yet
	one    float64 // bytes per second of a connection by itself; 0: not known
	enough int     // the result; 0: not yet
	steady steady
}

// begin starts with n connections.
func (f *fill) begin(n, least int) {
	*f = fill{n: n, least: least}
}

// step takes what the link has received at now, and gives how many connections it
// should have. most is how many it can use, and working how many it uses: those that
// are to go finish what they were asked for.
func (f *fill) step(now mark, rtt scheduler.Time, working, most int) int {
	if working > f.n {
		f.steady.begin()
		return f.n
	}
	if f.enough > 0 || !f.steady.watch(now, shortest(rtt)) {
		return f.n
	}
	rate := f.steady.rate
	if f.good > 0 && f.n < f.good && rate < full*f.rate && f.steady.doubt() {
		return f.n
	}
	f.steady.begin()
	switch {
	case f.n > f.wide && f.one > 0: // more than ever
		rises := rate >= more*f.rate
		f.rate, f.wide = max(f.rate, rate), f.n
		if !rises || 2*f.n > most {
			f.end(most)
			break
		}
		f.n *= 2
	case rate >= full*f.rate: // the first number, or as much with fewer
		f.rate, f.wide, f.good = max(f.rate, rate), max(f.wide, f.n), f.n
		if f.n/2 < f.least {
			f.enough = f.n
			break
		}
		f.n /= 2
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

// stop ends the search with what is known to do: the job is nearly over.
func (f *fill) stop() {
	if f.good == 0 {
		f.good = f.n
	}
	f.enough, f.n = f.good, f.good
}

// end takes what a connection brings for what it brings in any number.
func (f *fill) end(most int) {
	f.enough = max(f.least, min(most, ceil(full*f.rate, f.one)))
	f.n = f.enough
}
