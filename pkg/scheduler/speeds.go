package scheduler

// Connections of a link share its rate unequally: TCP shares a bottleneck fairly only in the long
// run. How much to ask of each, and which one is late, depends on what each has brought of late.
const (
	// speedWindow is over how long a connection's rate is measured, but not for
	// less than speedTrips round trips, and speedWeight is that of the latest one in
	// the mean.
	speedWindow = 200 * Millisecond
	speedTrips  = 2
	speedWeight = 0.5
)

// speeds are the rates of a link's connections.
type speeds struct {
	since [MaxStreams]Time    // when the present measurement began; 0: none has
	bytes [MaxStreams]int64   // that the connection had brought then
	total [MaxStreams]int64   // bytes that each connection has brought
	rate  [MaxStreams]float64 // bytes per second; 0: not known
	mean  float64             // of those that are known
	sum   float64             // of all that may be used, unknown ones taken as the mean
	used  StreamID            // above those that may have a rate
}

// observe measures the connections that have something to do. Those that are refused have
// no part of the rate.
func (s *speeds) observe(now, rtt Time, asked *[MaxStreams]queue, most StreamID, refused uint64) {
	window := longest(speedWindow, speedTrips, rtt)
	for s.used = max(s.used, most); s.used > most && asked[s.used-1].requests == 0; s.used-- {
		s.rate[s.used-1] = 0 // given up: when it is used again, the link may be another one
	}
	sum, known, unknown := 0.0, 0, 0
	for i := range most {
		switch age := now - s.since[i]; {
		case refused&(1<<i) != 0:
			s.since[i], s.rate[i] = 0, 0
			continue
		case asked[i].requests == 0 || s.total[i] == 0:
			s.since[i] = 0
		case s.since[i] == 0:
			s.since[i], s.bytes[i] = now, s.total[i]
		case age >= window:
			rate := float64(s.total[i]-s.bytes[i]) / age.Seconds()
			s.since[i], s.bytes[i] = now, s.total[i]
			if s.rate[i] > 0 {
				rate = float64(speedWeight*rate) + float64((1-speedWeight)*s.rate[i])
			}
			s.rate[i] = rate
		}
		if s.rate[i] > 0 {
			sum += s.rate[i]
			known++
		} else {
			unknown++
		}
	}
	s.mean, s.sum = 0, 0
	if known > 0 {
		s.mean = sum / float64(known)
		s.sum = sum + float64(float64(unknown)*s.mean)
	}
}

// of is the rate of a connection, the mean while it is not known.
func (s *speeds) of(i StreamID) float64 {
	if r := s.rate[i]; r > 0 {
		return r
	}
	return s.mean
}

// shareOf is the part of the link's rate that a connection has.
func (l *link) shareOf(i StreamID) float64 {
	if v := &l.speeds; v.sum > 0 && !without("unequal-speeds") {
		return v.of(i) / v.sum
	}
	return 1 / float64(l.streams.serving())
}
