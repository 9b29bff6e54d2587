package scheduler

// Left is how many bytes have not been received; meaningless while the size is unknown.
func (c *Core) Left() int64 { return c.flight.left() }

// Size is the object's size in bytes, -1 while it is unknown; of a batch, how many bytes there are as
// far as is known, -1 until the first Expected.
func (c *Core) Size() int64 {
	switch {
	case !c.freeMap.sized:
		return -1
	case c.cfg.Batch:
		return c.flight.total()
	}
	return c.freeMap.end
}

// LinkStatus is what a link does at present.
type LinkStatus struct {
	Rate      float64 // bytes per second; 0 while unknown
	Bandwidth float64 // the most that it has shown of late, in bytes per second; 0 while unknown
	RTT       Time    // the least round trip; 0 while unknown
	Streams   int     // how many connections it is worth
	Requests  int     // in flight
}

// Link is the status of a link.
func (c *Core) Link(id LinkID) LinkStatus {
	l := &c.links[id]
	return LinkStatus{Rate: l.est.rate, Bandwidth: l.est.capacity(), RTT: l.rtt.min, Streams: int(l.streams.most), Requests: l.load.requests}
}

// Done appends the ranges that have been received to dst, sorted and joined; of a batch nothing: see
// Missing.
func (c *Core) Done(dst []Range) []Range {
	if c.cfg.Batch {
		return dst
	}
	return c.flight.done(dst)
}

// Prefix is how many bytes have been received from the first on without a gap; of a batch 0.
func (c *Core) Prefix() int64 {
	if c.cfg.Batch {
		return 0
	}
	return c.flight.head()
}

// Free is how many bytes are wanted and no link was asked for. In a batch Expected bytes do not
// count, and a file of unknown size counts with the mean of the sizes that are known.
func (c *Core) Free() int64 { return c.freeMap.bytes() }

// Missing appends what of r is wanted and has not been received to dst, sorted and
// joined. What was Voided is not wanted.
func (c *Core) Missing(r Range, dst []Range) []Range { return c.flight.missing(r, dst) }
