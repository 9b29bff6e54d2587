package scheduler

const (
	// patientProbe is enough for a handshake at a round trip of 1.3 s, and for the
	// second packet of one whose first is lost (RFC 6298: after 1 s); veryPatient for
	// one of 4 s.
	patientProbe = 1300 * Millisecond
	veryPatient  = 4 * Second
	// probeMost bounds how long a probe may take. That is enough for name,
	// connection, TLS and request at a round trip of 2 s.
	probeMost = 10 * Second
)

// listen notes how long a link has been waited for of which nothing has been heard.
func (l *link) listen(now Time) {
	if l.load.received == 0 {
		l.rtt.observeSilence(now - l.health.lastByte)
	}
}

// answered notes what the first byte of ch, which comes now, tells of the link's latency:
// nothing if earlier requests may have delayed it.
func (l *link) answered(ch *chunk, now Time) {
	if ch.undelayed { // bytes are told of now and then
		l.rtt.observeAnswer(max(0, now-ch.issued-max(rateWindow/2, l.recordTime())))
	}
}

// alone says whether a request that is made now on a stream finds its connection
// open and nothing else in flight on its link.
func (l *link) alone(stream StreamID) bool {
	return l.load.requests == 0 && l.streams.open(stream)
}

// open says whether a request that is made now on a stream finds its connection open.
func (s *streams) open(stream StreamID) bool {
	return (s.worked&^s.broken)&(1<<stream) != 0 && s.conn[stream].cut == 0
}
