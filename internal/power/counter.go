package power

import "time"

// counter sums up an energy counter, in microjoules, that may start over: at the end of its
// range, or when its driver restarts.
type counter struct {
	wrap int64 // the count after which it begins at 0 again; 0: unknown
	last int64
	at   time.Duration // of last
	seen bool
	sum  int64 // microjoules since the first reading

	watts float64 // by the last step; 0: there was none
}

// add takes in a reading. A step beyond what any device draws is a counter that started over:
// the time in between is unknown, so it adds nothing.
func (c *counter) add(now time.Duration, count int64) error {
	if count < 0 {
		return errImplausible
	}
	step := count - c.last
	if step < 0 && c.wrap >= c.last {
		step += c.wrap
	}
	passed := (now - c.at).Seconds()
	most := int64(max(passed, 1) * maxWatts * 1e6)
	first := !c.seen
	c.last, c.at, c.seen = count, now, true
	if !first && step > 0 && step <= most {
		c.sum += step
		c.watts = float64(step) / 1e6 / max(passed, MinInterval.Seconds())
	}
	return nil
}
