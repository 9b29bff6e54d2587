package scheduler

// A server may answer a request for a range with a part of it from its first byte on (RFC
// 9110, 15.3.7): some bound how many bytes they give at once. What is missing is asked for
// again, and the link not for more at once from then on, so that a response fills the range
// that was asked for, and the next request is sent in time.

// clip ends chunk i with its response, which has fewer bytes than were asked for.
func (f *flight) clip(i int, bytes int64, out []Action) []Action {
	ch := &f.chunks[i]
	if bytes <= 0 || bytes < ch.got || bytes >= ch.rng.Len() {
		return out
	}
	l := &f.links[ch.link]
	l.gives = max(l.gives, bytes, leastRequest)
	switch j := f.find(ch.duplicate); {
	case ch.copy:
		return f.withdraw(i, out) // it has to have all that its original has not
	case j >= 0:
		out = f.withdraw(j, out) // it stands behind
		ch = &f.chunks[i]
	}
	behind := Range{ch.rng.Off + bytes, ch.rng.End}
	if ch.guess { // nothing was voided: the file is at least as long
		f.freeMap.guesses.learn(ch.piece.Len(), ch.piece.Len())
		f.resolve(ch.piece)
	}
	f.freeMap.give(ch.part(behind))
	f.shorten(ch, behind.Len())
	return append(out, shrink(ch))
}

// most is how many bytes one request over a link may be for.
func (f *flight) most(id LinkID) int64 {
	room := f.room(id)
	if gives := f.links[id].gives; gives > 0 {
		return min(room, gives)
	}
	return room
}
