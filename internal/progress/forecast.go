package progress

import (
	"math"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// moving is the least rate, in bytes per second, of a link that counts in a
// forecast: what a slower one is still asked for, others will have to take over.
const moving = 1000

// asked is a range that a link was asked for and that has not ended.
type asked struct {
	chunk    scheduler.ChunkID
	link     scheduler.LinkID
	off, end int64
}

// linkDelta is what the Link Δ would be at the present rates: known while at
// least two links receive, and the size of everything is known.
func (b *board) linkDelta() (seconds float64, known bool) {
	size, known := b.size()
	rest := float64(size - b.lost - b.done())
	if !known || b.over || rest <= 0 {
		return 0, false
	}
	var rates, lefts []float64
	for i := range b.links {
		if rate := b.linkRate(i); rate >= moving {
			rates = append(rates, rate)
			lefts = append(lefts, b.asked(i))
		}
	}
	if len(rates) < 2 {
		return 0, false
	}
	return spread(rates, lefts, rest), true
}

// asked is how many bytes link i has been asked for and has not received.
func (b *board) asked(i int) (left float64) {
	for _, f := range b.active {
		sum := int64(0)
		for _, a := range f.asked {
			if int(a.link) == i {
				sum += max(min(a.end, f.size)-a.off, 0) // the first ranges are guessed, and may lie beyond the end
			}
		}
		if i < len(f.links) && i < len(f.ended) {
			sum -= max(f.links[i].Bytes-f.ended[i], 0)
		}
		left += float64(max(sum, 0))
	}
	return left
}

// spread is the time in seconds between the first and the last link to finish, if
// each goes on at its rate with what it is asked for (lefts), and rest bytes are
// to come in all. What nobody is asked for yet goes to whoever is free first. If
// the lefts are more than the rest, somebody has taken over the end of a request,
// of which observers are not told: then it is taken off those that finish last.
func spread(rates, lefts []float64, rest float64) float64 {
	sum, all := 0.0, 0.0
	for i, rate := range rates {
		sum += lefts[i]
		all += rate
	}
	pick := math.Max // nobody finishes before the level
	if sum > rest {
		pick = math.Min // nobody after it
	}
	// The level at which the links together do just the rest: by bisection, as the
	// sum grows with it.
	low, high := 0.0, rest/all
	for i, rate := range rates {
		high = max(high, lefts[i]/rate)
	}
	for range 50 {
		level, done := (low+high)/2, 0.0
		for i, rate := range rates {
			done += rate * pick(lefts[i]/rate, level)
		}
		if done < rest {
			low = level
		} else {
			high = level
		}
	}
	first, last := math.Inf(1), 0.0
	for i, rate := range rates {
		t := pick(lefts[i]/rate, high)
		first, last = min(first, t), max(last, t)
	}
	return last - first
}

// requestStarted keeps what a link is asked for.
func (b *board) requestStarted(e event.RequestStarted) {
	b.at = e.At
	if f := b.file(e.File); f != nil {
		f.asked = append(f.asked, asked{e.Chunk, e.Link, e.Off, e.End})
	}
}

// watts is what the device draws, by the last reading; known is false without one.
func (b *board) watts() (watts float64, source string, known bool) {
	if b.power == nil || !b.power.HasWatts() || b.over {
		return 0, "", false
	}
	return b.power.Watts, b.power.Source, true
}
