package scheduler

// A packet that is lost holds up all that comes behind it, which the kernel keeps until that
// packet has been sent again: for a round trip or more nothing seems to come, and then all of
// it at once. Where the kernel tells of what it keeps, it counts as come: a link is neither
// slow nor silent while it brings bytes, and no faster when they are handed on.
//
// That holds for a link that its only connection fills, and whose queue overflows now and
// then. Where packets are lost without a queue they are lost time and again: what waits for
// one is late indeed, and other connections are to help.
//
// What the server had sent of a request before it heard that it was cut short comes first,
// where the connection lasts: nobody wants it, but the link is not silent meanwhile, nor slow.

// strayMost is for how long that is an excuse since a link was last of use: 125 KB at
// 0.1 Mbit/s.
const strayMost = 10 * Second

// strayed notes that so many bytes have come on a stream that nobody wants any more.
func (l *link) strayed(stream StreamID, bytes int64, now Time) {
	if bytes > 0 && now-l.load.useful <= strayMost && !without("stray") {
		l.load.stray += min(unsized-l.load.stray, bytes)
		if l.streams.conn[stream].astray == 0 {
			l.streams.conn[stream].astray = now
		}
		l.health.lastByte, l.streams.conn[stream].heard = now, now
	}
}

// straying is for how long nothing else than what nobody wants any more is to be expected on
// a stream: as long again as nothing else has come, for nobody knows how much there is of it.
func (l *link) straying(id StreamID, now Time) Time {
	s := &l.streams
	if s.conn[id].astray == 0 || without("straying") {
		return 0
	}
	return max(0, s.conn[id].heard-s.conn[id].astray-(now-s.conn[id].heard))
}

// keep notes that so many bytes are kept on a stream by now.
func (l *link) keep(stream StreamID, bytes int64, now Time) {
	if bytes <= l.load.behind || stream != 0 || l.streams.most > 1 || !l.queued() {
		return
	}
	if without("behind") {
		return
	}
	l.load.behind = bytes
	l.health.lastByte, l.streams.conn[stream].heard = now, now
}

// handOn notes that a stream has received so many bytes, those that were kept first.
func (l *link) handOn(stream StreamID, bytes int64) {
	if stream == 0 {
		l.load.behind -= min(bytes, l.load.behind)
	}
}

// letGo forgets what is kept on a stream: its request was cut short. It has come over the
// link all the same, which is no slower for it.
func (l *link) letGo(stream StreamID) {
	if stream == 0 {
		l.est.rebase(l.load.behind)
		l.load.behind = 0
	}
}
