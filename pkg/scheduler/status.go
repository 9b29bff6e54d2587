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

// Rate is the link's present throughput in bytes per second; 0 while unknown.
func (c *Core) Rate(l LinkID) float64 { return c.links[l].est.rate }

// Bandwidth is the most that the link has shown of late, in bytes per second; 0
// while unknown.
func (c *Core) Bandwidth(l LinkID) float64 { return c.links[l].est.capacity() }

// RTT is the least round-trip time of the link; 0 while unknown.
func (c *Core) RTT(l LinkID) Time { return c.links[l].rtt.min }

// Streams is how many connections the link is worth at present.
func (c *Core) Streams(l LinkID) int { return int(c.links[l].streams.most) }

// Requests is how many requests the link has in flight.
func (c *Core) Requests(l LinkID) int { return c.links[l].load.requests }

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
