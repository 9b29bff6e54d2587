package sim

import "github.com/mlget/mlget/pkg/scheduler"

// What a drop-tail queue does to the connections that share it (Config.Crowded). Their
// windows together fill the link and its buffer; when that overflows, some lose
// packets and give way. What they have is unequal for seconds, connections that are left
// over at the end of a job cannot take the place of those that have ended, and now and
// then one is silent for a round trip or, after a timeout, longer, and starts anew.
// Figures are from linklab's sydney with Linux's CUBIC, seen at the end of jobs.
const (
	// dropShare of the connections lose a packet when the queue overflows, and
	// timeoutShare of these have to wait for the timeout.
	dropShare    = 0.3
	timeoutShare = 0.1
	// crowdGrowth is by what part a window grows in a round trip after a loss: CUBIC is back
	// at its old window after K = cbrt(0.3 W / 0.4) seconds (RFC 9438, 4.2), some ten trips
	// here.
	crowdGrowth = 0.035
)

// dropped throws the dice whether a connection loses a packet, if the queue is full:
// those that have less under way than others are less likely to.
func (l *link) dropped(now scheduler.Time, c *conn) bool {
	sum, n := l.underWay()
	if sum <= l.capacity.bps*float64(l.rtt+l.buffer)/float64(scheduler.Second) || l.dice.Float64() >= dropShare*min(1, c.window*float64(n)/sum) {
		return false
	}
	l.disorder += float64(c.roundGot / (2 * mss))
	c.lost = true
	c.window = max(2*mss, float64(cubicCut*c.window))
	c.heldTill = now + l.rtt
	if l.dice.Float64() < timeoutShare {
		c.lost, c.window = false, 2*mss
		c.heldTill += leastRTO
	}
	return true
}

// underWay is how much the connections at work have under way together, and how many
// there are.
func (l *link) underWay() (sum float64, n int) {
	for _, c := range l.conns {
		if len(c.queue) > 0 && !c.ghost {
			sum += c.window
			n++
		}
	}
	return sum, n
}

// queueing is how long a packet waits in the buffer.
func (l *link) queueing() scheduler.Time {
	sum, _ := l.underWay()
	if l.capacity.bps == 0 {
		return 0
	}
	behind := scheduler.FromSeconds(sum/l.capacity.bps) - l.rtt
	return max(0, min(l.buffer, behind))
}

// grow enlarges a window after a round trip in which it was used.
func (c *conn) grow() {
	switch {
	case c.roundGot < c.window/2:
	case c.lost:
		c.window += max(cubicGrowth*mss, float64(crowdGrowth*c.window))
	default:
		c.window *= 2
	}
}

// shareByWindows divides the link's rate as TCP does.
func (l *link) shareByWindows(total float64) {
	sum := 0.0
	for _, c := range l.conns {
		if c.n > 0 {
			sum += max(mss, c.window)
		}
	}
	for _, c := range l.conns {
		if c.n > 0 {
			c.rate = total * (max(mss, c.window) / sum)
		}
	}
}
