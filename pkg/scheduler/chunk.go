package scheduler

// chunk is one request in flight.
type chunk struct {
	id        ChunkID
	link      LinkID
	stream    StreamID
	rng       Range
	got       int64 // bytes received of rng
	seen      int64 // bytes received, including those beyond its end
	issued    Time
	duplicate ChunkID // the request that fetches the same bytes, up to the same end; NoChunk: none
	undelayed bool    // no other request of its link delays its first byte
	copy      bool    // it is the later one of two duplicates: its bytes are not counted
	reissued  uint8   // how often it was made anew over another connection of its link
	takenOver uint8   // how often another link took over all of it before it was answered

	ofFile
}

// ofFile is the file that a request is for; one object is file 0.
type ofFile struct {
	slot  int32 // the file's place in freeMap.files
	class Class
	guess bool  // its size is still unknown
	piece Range // as it was Added
	over  int64 // bytes asked for that are not likely to exist
}

func (c *chunk) left() int64 { return c.rng.Len() - c.got }

// cancel is the action that withdraws a request. Its bytes count, unless the request is a copy.
func cancel(ch *chunk) Action {
	r := Range{ch.rng.Off, ch.rng.Off + ch.got}
	if ch.copy {
		r.End = r.Off
	}
	return Action{Kind: Cancel, Link: ch.link, Chunk: ch.id, Range: r}
}

// shrink is the action that tells a request's new end.
func shrink(ch *chunk) Action {
	return Action{Kind: Shrink, Link: ch.link, Chunk: ch.id, Range: ch.rng}
}

// part is a range of a request's file, to be made free again or asked for anew.
func (c *chunk) part(r Range) part {
	return part{Range: r, piece: c.piece, class: c.class, slot: c.slot, guess: c.guess}
}

// rest is the range that a request has not received.
func (c *chunk) rest() Range { return Range{c.rng.Off + c.got, c.rng.End} }

// follows notes that a request replaces another one, over another connection or link.
func (c *chunk) follows(before *chunk) {
	c.takenOver = before.takenOver
	if c.link == before.link {
		c.reissued = before.reissued + 1
		return
	}
	c.takenOver++
}
