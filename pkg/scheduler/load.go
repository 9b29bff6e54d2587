package scheduler

// queue is what a connection has been asked for and has not received.
type queue struct {
	requests int32
	pending  int64 // bytes
}

// load is what a link has been asked for, and what has come.
type load struct {
	asked     bool // it has been given work since it came up
	requests  int  // in flight
	working   int  // streams that have some
	queues    [MaxStreams]queue
	pending   int64 // bytes asked for and not received
	over      int64 // of these, are not likely to exist
	assigned  int64 // bytes received or asked for, in all
	received  int64 // bytes received, in all
	began     int64 // bytes that it had received when it last began to work
	preempted int   // requests taken over before they were answered, since it last received a byte
	behindGap int64 // bytes of its first connection that wait behind a gap
}

// owe notes that a stream has been asked for so many bytes more.
func (o *load) owe(stream StreamID, bytes int64) {
	o.pending += bytes
	o.queues[stream].pending += bytes
}

// doubt notes that so many more of the bytes that a stream was asked for are not likely to exist.
func (o *load) doubt(stream StreamID, over int64) {
	o.over += over
	o.queues[stream].pending -= over
}

// owed is how many bytes are likely to come.
func (o *load) owed() int64 { return o.pending - o.over }

// begin notes a request on a stream, and says whether it is the first one there.
func (o *load) begin(stream StreamID) (first bool) {
	if o.requests == 0 {
		o.began = o.received
	}
	o.asked = true
	o.requests++
	q := &o.queues[stream]
	if q.requests++; q.requests > 1 {
		return false
	}
	o.working++
	return true
}

// end notes that a request on a stream has ended, and says whether it was the last one there.
func (o *load) end(stream StreamID) (last bool) {
	o.requests--
	q := &o.queues[stream]
	if q.requests--; q.requests > 0 {
		return false
	}
	o.working--
	return true
}

// got notes that so many bytes have come that were asked for.
func (o *load) got(bytes int64) {
	o.received, o.preempted = o.received+bytes, 0
}

// fruitless says whether nothing has come since the link last began to work.
func (o *load) fruitless() bool { return o.received == o.began }

// arrived is how many bytes have come, in all, those behind a gap included.
func (o *load) arrived() int64 { return o.received + o.behindGap }

// bdp is how many bytes the link has on the way at its present rate: while it owes fewer, it
// was not asked for all it can carry.
func (l *link) bdp() int64 { return int64(l.est.rate * l.rtt.toAnswer().Seconds()) }
