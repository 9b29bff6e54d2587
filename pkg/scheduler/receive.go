package scheduler

// received books what request i has received, and ends it if it ended.
func (f *flight) received(i int, in *Input, out []Action) []Action {
	f.observe(i, in)
	ch := &f.chunks[i]
	l := &f.links[ch.link]
	switch in.Kind {
	case Finished:
		l.meter(ch, f.now, f.cfg.Batch)
		if l.health.probing && l.health.banned {
			l.rtt.endBan()
			out = append(out, l.unban(f.now, ch.link))
		}
		out = f.resolveDuplicate(ch, out)
		out = f.end(f.find(in.Chunk), out)
	case Failed:
		id := ch.link
		if !l.health.banned && (in.Bounded > 0 && l.streams.tooMany(in.Bounded) || l.streams.needless(ch, f.now)) {
			l.streams.refuse(ch.stream)
			return f.end(i, out)
		}
		if f.cfg.Batch && ch.left() > 0 {
			l.streams.lose(ch.stream, f.next)
		}
		out = f.end(i, out)
		l.health.wait(f.now, in.Wait)
		l.linkUse.failingSince = min(l.linkUse.failingSince, f.now)
		if l.health.banned {
			out = append(out, l.ban(f.now, id)) // the probe failed: wait longer
		}
	default: // a Progress does no more
	}
	return out
}

// observe books what is told of request i and its link.
func (f *flight) observe(i int, in *Input) {
	ch := &f.chunks[i]
	l := &f.links[ch.link]
	l.rtt.observeMin(in.RTT)
	l.streams.server.single = l.streams.server.single || in.Single && !f.cfg.Batch // which may have other servers
	l.streams.server.lasting = l.streams.server.lasting || in.Lasting
	if in.Answered && l.streams.ahead.answered == 0 {
		l.streams.ahead.answered = f.now
	}
	if in.Held {
		l.health.lastByte, l.streams.conn[ch.stream].heard = f.now, f.now
	}
	l.rtt.observeData(in.Trip)
	l.rtt.observeHandshake(in.Shook, in.Handshake)
	l.streams.loss.reordered = max(l.streams.loss.reordered, in.Reordered)
	// A shrunk chunk may report bytes beyond its new end: they are waste.
	got := min(max(in.Bytes, ch.got), ch.rng.Len())
	seen := max(ch.seen, min(in.Bytes, unsized))
	l.linkUse.spent += min(unsized-l.linkUse.spent, seen-ch.seen)
	ch.seen = seen
	if fresh := got - ch.got; fresh > 0 || in.Bytes > ch.got {
		if ch.got == 0 {
			l.answered(ch, f.now)
		}
		l.health.inVain = 0
		ch.got = got
		f.came(ch, fresh)
		if !ch.copy {
			l.load.owe(ch.stream, -fresh)
		}
		l.load.got(fresh)
		l.fillGap(ch.stream, fresh)
		l.health.lastByte = f.now
		l.linkUse.failingSince = Never
		l.speeds.total[ch.stream] += fresh
		l.streams.hear(ch, fresh, f.now)
	}
	l.holdBehindGap(ch.stream, min(in.Behind, unsized), f.now)
}
