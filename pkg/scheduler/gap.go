package scheduler

// A lost packet holds up everything behind it: the kernel keeps these bytes until the packet has
// been sent again. For a round trip or more nothing seems to arrive, and then everything does at
// once. Where the kernel tells how much it keeps, these bytes count as arrived: a link is neither
// slow nor silent while they come, and no faster when they are handed on.
//
// That holds for a link that its only connection fills, and whose queue overflows now and then.
// Where packets are lost without a queue they are lost again and again: the bytes behind a gap
// are late indeed, and other connections are to help.

// holdBehindGap notes that so many bytes of a stream wait behind a gap by now.
func (l *link) holdBehindGap(stream StreamID, bytes int64, now Time) {
	if bytes <= l.load.behindGap || stream != 0 || l.streams.most > 1 || !l.queued() || without("behind-gap") {
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
