package scheduler

import "slices"

// chunk is one request in flight: it has received got bytes of its range.
type chunk struct {
	id        ChunkID
	link      LinkID
	stream    StreamID
	rng       Range
	got       int64
	seen      int64 // bytes received, those beyond its end included
	issued    Time
	duplicate ChunkID // fetches the same bytes, up to the same end; NoChunk: none does
	alone     bool    // nothing of its link's delays its first byte
	copy      bool    // and was begun after it: what it is asked for is not counted
	moved     uint8   // times that it was made anew over another connection of its link
	taken     uint8   // times that another link took over all of it before it was answered

	// Of a batch: the file's place among those in progress, its class, the piece as
	// it was Added, whether the file's size is still unknown, and how many of the
	// bytes asked for are not likely to exist.
	slot  int32
	class Class
	guess bool
	piece Range
	over  int64
}

func (c *chunk) left() int64 { return c.rng.Len() - c.got }

// find gives the index of a chunk in flight, or -1. They stand in the order of
// their ids.
func (c *Core) find(id ChunkID) int {
	low, high := 0, len(c.chunks)
	for low < high {
		if mid := (low + high) / 2; c.chunks[mid].id < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(c.chunks) && c.chunks[low].id == id {
		return low
	}
	return -1
}

// drop takes the i-th chunk out. The old ones are the first to end: what is on the
// shorter side moves up.
func (c *Core) drop(i int) {
	if i >= len(c.chunks)/2 {
		c.chunks = slices.Delete(c.chunks, i, i+1)
		return
	}
	copy(c.chunks[1:], c.chunks[:i])
	c.chunks = c.chunks[1:]
}

// append adds a chunk, in the room that those have left that are gone.
func (c *Core) append(ch chunk) {
	if n := len(c.chunks); n == cap(c.chunks) {
		if 2*n > cap(c.space) {
			c.space = make([]chunk, 0, 4*n)
		}
		c.chunks = append(c.space[:0], c.chunks...)
	}
	c.chunks = append(c.chunks, ch)
}

// cancel is the action that withdraws a request. What it has received counts,
// unless another request has it too.
func cancel(ch *chunk) Action {
	r := Range{ch.rng.Off, ch.rng.Off + ch.got}
	if ch.copy {
		r.End = r.Off
	}
	return Action{Kind: Cancel, Link: ch.link, Chunk: ch.id, Range: r}
}

// shrink is the action that tells of a request's new end.
func shrink(ch *chunk) Action {
	return Action{Kind: Shrink, Link: ch.link, Chunk: ch.id, Range: ch.rng}
}

// shorten takes the last n bytes from what a request that is no copy was asked for.
func (c *Core) shorten(ch *chunk, n int64) {
	ch.rng.End -= n
	o := &c.links[ch.link].load
	o.owe(ch.stream, -n)
	o.assigned -= n
}

// shrunk tells of a request's new end, or withdraws chunk i where it has come to that.
func (c *Core) shrunk(i int, out []Action) []Action {
	if ch := &c.chunks[i]; ch.left() > 0 {
		return append(out, shrink(ch))
	}
	return c.withdraw(i, out) // do not wait for the end of what is complete
}

// rest is what a request has not received.
func (c *chunk) rest() Range { return Range{c.rng.Off + c.got, c.rng.End} }
