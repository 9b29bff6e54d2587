package scheduler

// A link that falls silent while no other serves keeps its requests: nobody could
// go on with them. But its sender waits twice as long after each packet that was
// lost, and when the link is back after four seconds nothing may come for three
// more. So it is knocked at: a little is asked for over another connection, again
// and again, whose first packet finds the link open as soon as it is. Then the
// requests that are stuck are released. Only a link that was delivering is knocked
// at: a server that thinks before its first byte must not be asked ten times.

// knocks are the tries of a link.
type knocks struct {
	tries  int
	chunk  ChunkID  // the latest of them
	stream StreamID // over which it was made
	since  Time
}

// knock asks a silent link for a little over a connection that it has not used, or
// gives up the one before when it has had its time.
func (c *Core) knock(id LinkID, out []Action) []Action {
	l := &c.links[id]
	k := &l.health.knocks
	if k.tries > 0 {
		if i := c.flight.find(k.chunk); i >= 0 {
			if c.now-k.since <= longest(max(probeFor, banFor(k.tries)), silentRTTs, max(l.rtt.min, l.rtt.handshake)) {
				return out
			}
			out = c.withdraw(i, out)
		}
	}
	stream := l.streams.most
	for stream < MaxStreams && l.load.queues[stream].requests > 0 { // a trial has left them
		stream++
	}
	if without("knock") || c.batch != nil || c.cfg.Parallelism > 0 || c.cfg.Window > 0 || !c.usable(l) || !c.sized() || stream >= MaxStreams || !l.streams.served(stream) {
		return out
	}
	before, size := len(out), min(probeSize, c.most(id))
	if len(c.ledger.free) > 0 {
		out = c.start(id, stream, c.ledger.take(size, c.ledger.size), out)
	} else if ch := c.flight.stuck(id); ch != nil && !c.cfg.NoSteal {
		out = c.takeOver(id, stream, ch, size, out)
	}
	if len(out) > before {
		*k = knocks{tries: k.tries + 1, chunk: c.flight.next - 1, stream: stream, since: c.now}
	}
	return out
}

// opened ends the knocking at a link that has been heard again: if it was over the new
// connection, those that are silent yet are given up, and it stays in use.
func (c *Core) opened(id LinkID, out []Action) []Action {
	l := &c.links[id]
	k := l.health.knocks
	l.health.knocks = knocks{}
	if l.streams.conn[k.stream].heard <= k.since {
		return out
	}
	l.streams.most = max(l.streams.most, k.stream+1)
	for i := len(c.flight.chunks) - 1; i >= 0; i-- {
		if ch := &c.flight.chunks[i]; ch.link == id && ch.stream != k.stream && l.streams.conn[ch.stream].heard <= k.since {
			out = c.withdraw(i, out)
		}
	}
	return out
}
