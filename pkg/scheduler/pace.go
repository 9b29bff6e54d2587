package scheduler

const (
	// paceWindow is over how long a pace is measured, but not for less than
	// paceRTTs round trips: long against the bursts in which bytes come.
	paceWindow = 500 * Millisecond
	paceRTTs   = 3
	// A pace that has risen by the factor growth in a window is still
	// growing (slow start, or a link that builds up its rate), but not for more
	// than paceWindows of them.
	growth      = 1.1
	paceWindows = 8
	// paceDoubt is how many windows it takes to contradict what was told of the
	// link beforehand.
	paceDoubt = 6
	// paceWeight and lateWeight are those of the latest window in the mean, once
	// there are enough of them, and in the pace of late.
	paceWeight = 0.1
	lateWeight = 0.3
)

// pace is what a link carries, more slowly measured than by its estimator:
// decisions that cost joules should not hang on a tenth of a second.
type pace struct {
	since   Time // when the window began
	bytes   int64
	running bool
	windows int
	growing bool
	last    float64 // bytes per second in the last window
	steady  int     // windows since it stopped growing
	mean    float64 // bytes per second
	late    float64 // bytes per second, of late
}

// observe takes the link's byte count at now. receiving says that it is owed
// bytes and has got the first of them.
func (p *pace) observe(now, rtt Time, bytes int64, receiving bool) {
	switch {
	case !receiving:
		p.pause()
	case !p.running:
		p.running, p.since, p.bytes = true, now, bytes
	case now-p.since >= longest(paceWindow, paceRTTs, rtt):
		rate := float64(bytes-p.bytes) / (now - p.since).Seconds()
		p.since, p.bytes = now, bytes
		p.windows++
		p.growing = p.windows == 1 || p.windows <= paceWindows && rate > growth*p.last
		p.last = rate
		if p.growing {
			p.mean, p.late, p.steady = rate, rate, 1
			break
		}
		p.steady++
		w := max(paceWeight, 1/float64(p.steady))
		p.mean = float64((1-w)*p.mean) + float64(w*rate)
		p.late = float64((1-lateWeight)*p.late) + float64(lateWeight*rate)
	}
}

// pause leaves the time until the next first byte out.
func (p *pace) pause() { p.running = false }

// settled says whether the mean is what the link carries. told says that
// something else may have been told of it.
func (p *pace) settled(told bool) bool {
	return !p.growing && (p.windows >= paceDoubt || p.windows >= 2 && !told)
}
