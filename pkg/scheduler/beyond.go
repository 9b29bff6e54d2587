package scheduler

// While an object's size is unknown, each link is asked for the range behind the previous link's.
// The object may end before such a range: the server then answers 416 with the object's size (RFC
// 9110, 15.5.17). The nearest link hears that first, and would be idle while the links that were
// asked for the object itself may not even have a connection. The size from a 416 does not say
// which object it is, and links may reach different ones, so the size is only used where an error
// costs little: no link is asked for bytes behind that end, and the link that was told fetches too
// what others have not answered. Only a response with bytes sets the size.

// endBeyond ends request i, whose link was told that the object ends before its range.
func (f *flight) endBeyond(i int, rtt Time, out []Action) []Action {
	ch := f.chunks[i]
	l := &f.links[ch.link]
	l.rtt.observeMin(rtt)
	out = f.end(i, out)
	l.streams.worked |= 1 << ch.stream // its connection stands
	l.streams.broken &^= 1 << ch.stream
	return out
}

// duplicateUnanswered lets an idle link that was told where the object ends duplicate the first
// unanswered request, if the idle link's answer is expected sooner.
func (f *flight) duplicateUnanswered(thief LinkID, stream StreamID, out []Action) []Action {
	l := &f.links[thief]
	if f.endHint == 0 || f.cfg.once() || l.load.requests > 0 || l.rtt.min == 0 {
		return out
	}
	var first *chunk
	for i := range f.chunks {
		ch := &f.chunks[i]
		if ch.duplicate == NoChunk && ch.rng.Off < f.endHint && f.untouched(ch) && (first == nil || ch.rng.Off < first.rng.Off) {
			first = ch
		}
	}
	if first == nil {
		return out
	}
	o := &f.links[first.link]
	theirs := max(f.now, first.issued+o.streams.trips(first.stream)*o.rtt.reach())
	if first.rng.Len() > f.most(thief) || f.now+l.streams.trips(stream)*l.rtt.min >= theirs {
		return out
	}
	if without("duplicate-unanswered") {
		return out
	}
	return f.duplicate(thief, stream, first, out)
}

// duplicateRemainder duplicates the last range once the size is known, if little is left of it and
// it is unanswered: the link that was asked for the range before fetches it too. A far link may not
// have a connection when the other link has received everything else.
func (f *flight) duplicateRemainder(out []Action) []Action {
	if f.cfg.NoSteal || f.cfg.once() {
		return out
	}
	for i := range f.chunks {
		ch := &f.chunks[i]
		if ch.duplicate != NoChunk || !f.untouched(ch) || ch.left() > f.cfg.most() {
			continue
		}
		for j := range f.chunks {
			before := &f.chunks[j]
			l := before.link
			if before.rng.End == ch.rng.Off && l != ch.link && !before.copy && f.links[l].rtt.min > 0 && ch.left() <= f.most(l) && !without("duplicate-remainder") {
				return f.duplicate(l, before.stream, ch, out) // only the last range reaches beyond the end
			}
		}
	}
	return out
}
