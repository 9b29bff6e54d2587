package scheduler

// batch is what a Core knows of a job of many files.
type batch struct {
	stock    stock
	received int64 // bytes, each counted once
	plans    []Plan
	files    int // may be in progress at once; 0: any number
	tables   []table
	hunger   []hunger
	booked   bool // something was told that nobody has acted upon
	helping  bool // there is nothing left to ask for
	drySince Time // when all was asked for that could be; Never: it is not
}

func newBatch(links int) *batch {
	return &batch{plans: make([]Plan, links), tables: make([]table, links), hunger: make([]hunger, links)}
}

// Free is how many bytes are wanted that nobody was asked for. In a batch those
// that are Expected do not count, and a Guess counts as what files of an unknown
// size have turned out to have so far.
func (c *Core) Free() int64 {
	if c.batch != nil {
		return c.batch.stock.bytes()
	}
	return c.ledger.bytes()
}

// Missing appends what of r is wanted and has not been received to dst, sorted and
// joined. What was Voided is not wanted.
func (c *Core) Missing(r Range, dst []Range) []Range {
	first := len(dst)
	if c.batch != nil {
		dst = c.batch.stock.missing(r, dst)
	} else {
		for _, f := range c.ledger.free {
			if f = f.within(r); !f.Empty() {
				dst = append(dst, f)
			}
		}
	}
	for i := range c.chunks {
		ch := &c.chunks[i]
		if m := ch.rest().within(r); !m.Empty() && !ch.copy {
			dst = append(dst, m)
		}
	}
	sortRanges(dst[first:])
	n := first
	for _, m := range dst[first:] {
		if n > first && dst[n-1].End == m.Off {
			dst[n-1].End = m.End
			continue
		}
		dst[n] = m
		n++
	}
	return dst[:n]
}

// lay takes in what is told of pieces and plans. It takes effect with the input
// that follows, so that what is told together is seen together.
func (c *Core) lay(in *Input, out []Action) []Action {
	b := c.batch
	b.booked = true
	switch in.Kind {
	case Added:
		b.stock.add(in.Piece)
	case Voided:
		if r := in.Piece.Range; !r.Empty() {
			c.learn(r)
			b.stock.cut(r)
			return c.void(r, out)
		}
	case Expected:
		b.stock.told, b.stock.expected = true, min(unforeseen, max(0, in.Bytes))
	case Planned:
		if in.Link >= 0 && int(in.Link) < len(c.links) && in.Plan != nil && in.Plan.Validate() == nil {
			b.plans[in.Link] = *in.Plan
			c.follow(in.Link)
		}
	default: // not about a batch
	}
	return out
}

// follow gives a link the connections that its plan wants.
func (c *Core) follow(id LinkID) {
	b := c.batch
	b.files = 0
	for i := range b.plans {
		if n := b.plans[i].Files; n > 0 && (b.files == 0 || n < b.files) {
			b.files = n
		}
	}
	if n := b.plans[id].Connections(); n > 0 {
		c.links[id].streams.most = StreamID(n)
	}
}

// planned says whether somebody else decides how many connections a link has.
func (c *Core) planned(id LinkID) bool {
	return c.batch != nil && c.batch.plans[id].Connections() > 0
}

// learn learns sizes from what is about to be voided: the first bytes of a guess
// whose end nobody wants are as many as there are.
func (c *Core) learn(r Range) {
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.guess && !ch.piece.within(r).Empty() {
			if r.Off > ch.piece.Off {
				c.batch.stock.learn(ch.piece.Len(), r.Off-ch.piece.Off)
			}
			c.resolve(ch.piece)
		}
	}
	s := &c.batch.stock
	for k := range s.open {
		for _, p := range s.open[k].live() {
			if p.guess && !p.piece.within(r).Empty() {
				c.resolve(p.piece)
			}
		}
	}
}

// resolve notes that the size of a piece's file is known.
func (c *Core) resolve(piece Range) {
	c.batch.stock.resolve(piece)
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.guess && ch.piece == piece {
			c.sure(ch)
		}
	}
}

// void shortens or withdraws the requests for bytes that nobody wants any more.
func (c *Core) void(r Range, out []Action) []Action {
	for i := len(c.chunks) - 1; i >= 0; i-- {
		ch := &c.chunks[i]
		rest := ch.rest()
		gone := rest.within(r)
		if ch.copy || gone.Empty() {
			continue
		}
		if gone.End < rest.End {
			out = c.voidBefore(i, gone, out)
			continue
		}
		if j := c.find(ch.twin); ch.twin != NoChunk && j >= 0 {
			twin := &c.chunks[j]
			if twin.rng.Off+twin.got >= gone.Off && gone.Off > rest.Off {
				out = c.voidWon(i, j, gone.Off, out)
				continue
			}
			if twin.rng.Off+twin.got < gone.Off {
				twin.rng.End = gone.Off
				out = append(out, Action{Kind: Shrink, Link: twin.link, Chunk: twin.id, Range: twin.rng})
			}
		}
		out = c.curtail(i, gone.Off, out)
	}
	return out
}

// curtail makes a request end at end, where it has not come to yet, or just has:
// what is beyond is not wanted.
func (c *Core) curtail(i int, end int64, out []Action) []Action {
	ch := &c.chunks[i]
	l := &c.links[ch.link]
	n := ch.rng.End - end
	ch.rng.End = end
	c.owe(ch.link, ch.stream, -n)
	l.assigned -= n
	c.batch.stock.settle(ch.slot, n, 0)
	if ch.left() > 0 {
		return append(out, Action{Kind: Shrink, Link: ch.link, Chunk: ch.id, Range: ch.rng})
	}
	return c.end(i, append(out, cancel(ch)))
}

// voidBefore voids what is not at the end of a request: what is behind it is free
// again.
func (c *Core) voidBefore(i int, gone Range, out []Action) []Action {
	ch := &c.chunks[i]
	if j := c.find(ch.twin); ch.twin != NoChunk && j >= 0 {
		out = c.end(j, append(out, cancel(&c.chunks[j]))) // it stands behind
		ch = &c.chunks[i]
	}
	l := &c.links[ch.link]
	behind := part{Range: Range{gone.End, ch.rng.End}, piece: ch.piece, file: c.batch.stock.files[ch.slot].file, slot: ch.slot}
	c.owe(ch.link, ch.stream, -behind.Len())
	l.assigned -= behind.Len()
	ch.rng.End = gone.End
	c.batch.stock.give(ch.class, behind)
	return c.curtail(i, gone.Off, out)
}

// voidWon ends a request and its copy, which has all that is wanted of it.
func (c *Core) voidWon(i, j int, end int64, out []Action) []Action {
	ch, won := &c.chunks[i], &c.chunks[j]
	l, w := &c.links[ch.link], &c.links[won.link]
	out = append(out,
		Action{Kind: Cancel, Link: ch.link, Chunk: ch.id, Range: Range{ch.rng.Off, won.rng.Off}},
		Action{Kind: Cancel, Link: won.link, Chunk: won.id, Range: Range{won.rng.Off, end}})
	c.owe(ch.link, ch.stream, -ch.left())
	l.assigned -= ch.rng.End - won.rng.Off
	w.assigned += end - won.rng.Off
	c.batch.received += max(0, end-ch.rng.Off-ch.got)
	c.batch.stock.settle(ch.slot, ch.left(), 0)
	ch.rng.End, ch.got, ch.twin = won.rng.Off, won.rng.Off-ch.rng.Off, NoChunk
	won.rng.End, won.got, won.twin = end, end-won.rng.Off, NoChunk
	out = c.end(j, out) // it stands behind
	return c.end(i, out)
}

// rest is what a request has not received.
func (c *chunk) rest() Range { return Range{c.rng.Off + c.got, c.rng.End} }

// sure notes that the file's size is known.
func (c *Core) sure(ch *chunk) {
	c.doubt(ch, 0)
	ch.guess = false
}

// doubt notes how many of the bytes that were asked for are not likely to exist.
func (c *Core) doubt(ch *chunk, over int64) {
	c.links[ch.link].over += over - ch.over
	c.batch.tables[ch.link].streams[ch.stream].pending -= over - ch.over
	ch.over = over
}

// came notes that a request has received so many bytes more.
func (c *Core) came(ch *chunk, fresh int64) {
	if fresh <= 0 {
		return
	}
	b := c.batch
	if ch.guess { // nobody has voided anything: the file is at least as long
		b.stock.learn(ch.piece.Len(), ch.piece.Len())
		c.resolve(ch.piece)
	}
	c.links[ch.link].speeds.total[ch.stream] += fresh
	if !ch.copy {
		b.received += fresh
		b.stock.settle(ch.slot, fresh, 0)
	}
}

// restore makes what a request of a batch that ends has not received free again.
func (c *Core) restore(ch *chunk) {
	s := &c.batch.stock
	c.doubt(ch, 0)
	c.batch.tables[ch.link].streams[ch.stream].requests--
	if !ch.copy {
		s.give(ch.class, part{Range: ch.rest(), piece: ch.piece, file: s.files[ch.slot].file, slot: ch.slot, guess: ch.guess})
	}
	s.settle(ch.slot, 0, -1)
}

// adopt makes a request one for the file of another.
func (c *Core) adopt(ch, of *chunk) {
	ch.slot, ch.class, ch.piece, ch.guess = of.slot, of.class, of.piece, of.guess
	c.batch.stock.files[of.slot].chunks++
}
