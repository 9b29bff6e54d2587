package scheduler

// A link that falls silent while no other serves keeps its requests, since no other link could
// continue them. But its sender waits twice as long after each packet that was lost: when the
// link is back after four seconds, nothing may come for three more. A new connection has no such
// wait. So a little is requested over another connection, again and again, until one of them is
// answered; then the requests that are stuck are released. Only a link that was delivering is
// probed so: a server that thinks before its first byte must not be asked ten times.

// reconnectProbe is the attempts to reach a silent link over another connection.
type reconnectProbe struct {
	tries  int
	chunk  ChunkID  // the latest of them
	stream StreamID // over which it was made
	since  Time
}

// probeByReconnect asks a silent link for a little over a connection that it has not used, or
// gives up the request before when it has had its time.
func (c *Core) probeByReconnect(id LinkID, out []Action) []Action {
	l := &c.links[id]
	k := &l.health.reconnect
	if k.tries > 0 {
		if i := c.flight.find(k.chunk); i >= 0 {
			if c.now-k.since <= longest(max(probeFor, banFor(k.tries)), silentRTTs, max(l.rtt.min, l.rtt.handshake)) {
				return out
			}
			out = c.flight.withdraw(i, out)
		}
	}
	stream := l.streams.most
	for stream < MaxStreams && l.load.queues[stream].requests > 0 { // a trial has left them
		stream++
	}
	if without("reconnect-probe") || c.cfg.Batch || c.cfg.Parallelism > 0 || c.cfg.Window > 0 || !(View{c}).usable(l) || !c.freeMap.sized || stream >= MaxStreams || !l.streams.served(stream) {
		return out
	}
	before := len(out)
	if out = c.try(id, stream, id, out); len(out) > before {
		*k = reconnectProbe{tries: k.tries + 1, chunk: c.flight.next - 1, stream: stream, since: c.now}
	}
	return out
}

// endReconnectProbe is called when a probed link has delivered again. If it did so over the new
// connection, requests on connections that are still silent are released, and the new one stays.
func (f *flight) endReconnectProbe(id LinkID, out []Action) []Action {
	l := &f.links[id]
	k := l.health.reconnect
	l.health.reconnect = reconnectProbe{}
	if l.streams.conn[k.stream].heard <= k.since {
		return out
	}
	l.streams.most = max(l.streams.most, k.stream+1)
	for i := len(f.chunks) - 1; i >= 0; i-- {
		if ch := &f.chunks[i]; ch.link == id && ch.stream != k.stream && l.streams.conn[ch.stream].heard <= k.since {
			out = f.withdraw(i, out)
		}
	}
	return out
}
