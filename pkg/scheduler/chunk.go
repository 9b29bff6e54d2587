package scheduler

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
	undelayed bool    // nothing of its link's delays its first byte
	copy      bool    // and was begun after it: what it is asked for is not counted
	reissued  uint8   // times that it was made anew over another connection of its link
	takenOver uint8   // times that another link took over all of it before it was answered

	ofFile
}

// ofFile is which file of a batch a request is for.
type ofFile struct {
	slot  int32 // the file's place among those in progress
	class Class
	guess bool  // its size is still unknown
	piece Range // as it was Added
	over  int64 // bytes asked for that are not likely to exist
}

func (c *chunk) left() int64 { return c.rng.Len() - c.got }

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

// part is what of a request's file r is, to be made free again.
func (c *chunk) part(r Range) part {
	return part{Range: r, piece: c.piece, class: c.class, slot: c.slot, guess: c.guess}
}

// rest is what a request has not received.
func (c *chunk) rest() Range { return Range{c.rng.Off + c.got, c.rng.End} }
