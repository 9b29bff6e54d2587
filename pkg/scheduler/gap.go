package scheduler

// A lost packet holds up everything behind it: the kernel keeps these bytes until the packet has
// been sent again. For a round trip or more nothing seems to arrive, and then everything does at
// once. Where the kernel tells how much it keeps, these bytes count as arrived: a link is neither
// slow nor silent while they come, and no faster when they are handed on.
//
// That holds for a link that its only connection fills, and whose queue overflows now and then.
// Where packets are lost without a queue they are lost again and again: the bytes behind a gap
// are late indeed, and other connections are to help.
//
// A connection that outlives a request which was cut short first brings what the server had sent
// of it before. These bytes are discarded, but the link is neither silent nor slow meanwhile.

// discardMost is for how long after a link was last useful discarded bytes excuse it: 125 KB at
// 0.1 Mbit/s.
const discardMost = 10 * Second

// discard notes that so many bytes of requests that were cut short have come on a stream.
func (l *link) discard(stream StreamID, bytes int64, now Time) {
	if bytes > 0 && now-l.load.useful <= discardMost && !without("discarded") {
		l.load.discarded += min(unsized-l.load.discarded, bytes)
		if l.streams.conn[stream].discarding == 0 {
			l.streams.conn[stream].discarding = now
		}
		l.health.lastByte, l.streams.conn[stream].heard = now, now
	}
}

// discardWait is for how long only bytes to be discarded are expected on a stream: as long again
// as nothing else has come, since their number is unknown.
func (l *link) discardWait(id StreamID, now Time) Time {
	s := &l.streams
	if s.conn[id].discarding == 0 || without("discard-wait") {
		return 0
	}
	return max(0, s.conn[id].heard-s.conn[id].discarding-(now-s.conn[id].heard))
}

// holdBehindGap notes that so many bytes of a stream wait behind a gap by now.
func (l *link) holdBehindGap(stream StreamID, bytes int64, now Time) {
	if bytes <= l.load.behindGap || stream != 0 || l.streams.most > 1 || !l.queued() {
		return
	}
	if without("behind-gap") {
		return
	}
	l.load.behindGap = bytes
	l.health.lastByte, l.streams.conn[stream].heard = now, now
}

// fillGap notes that a stream has received so many bytes, of which those behind the gap come first.
func (l *link) fillGap(stream StreamID, bytes int64) {
	if stream == 0 {
		l.load.behindGap -= min(bytes, l.load.behindGap)
	}
}

// dropGap forgets what waits behind a gap on a stream, since its request was cut short. These
// bytes have come over the link all the same, which is no slower for it.
func (l *link) dropGap(stream StreamID) {
	if stream == 0 {
		l.est.rebase(l.load.behindGap)
		l.load.behindGap = 0
	}
}
