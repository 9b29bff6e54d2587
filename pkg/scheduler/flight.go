package scheduler

import (
	"cmp"
	"slices"
	"sort"
)

// flight is the requests that are under way, and the account of bytes: each byte that is wanted is
// free (freeMap), owed by one request, or received. Every change of a request's range goes through
// its methods, which keep freeMap and the links' loads in step with it.
type flight struct {
	chunks  []chunk // in the order of their ids; a part of space
	space   []chunk
	next    ChunkID
	now     Time
	links   linkList
	freeMap *freeMap
	cfg     *Config
	copied  int64 // bytes that are asked for twice, or were received twice
	endHint int64 // where the object ends, as a link was told that had asked for later bytes; 0: none was
}

func newFlight(most int, cfg *Config, links linkList, free *freeMap) flight {
	f := flight{space: make([]chunk, 0, most), cfg: cfg, links: links, freeMap: free}
	f.chunks = f.space
	return f
}

// find is the index of a request, -1 if it is not in flight (NoChunk never is).
func (f *flight) find(id ChunkID) int {
	i := sort.Search(len(f.chunks), func(i int) bool { return f.chunks[i].id >= id })
	if i < len(f.chunks) && f.chunks[i].id == id {
		return i
	}
	return -1
}

// add adds a request in the space that ended requests have left, and gives it its id.
func (f *flight) add(ch chunk) *chunk {
	if n := len(f.chunks); n == cap(f.chunks) {
		if 2*n > cap(f.space) {
			f.space = make([]chunk, 0, 4*n)
		}
		f.chunks = append(f.space[:0], f.chunks...)
	}
	ch.id = f.next
	f.next++
	f.chunks = append(f.chunks, ch)
	return f.latest()
}

// latest is the request that was added last; there must be one.
func (f *flight) latest() *chunk { return &f.chunks[len(f.chunks)-1] }

// drop removes the i-th request. Old requests end first, so the shorter side is moved.
func (f *flight) drop(i int) {
	if i >= len(f.chunks)/2 {
		f.chunks = slices.Delete(f.chunks, i, i+1)
		return
	}
	copy(f.chunks[1:], f.chunks[:i])
	f.chunks = f.chunks[1:]
}

// youngest is the latest of a stream's requests; there must be one.
func (f *flight) youngest(id LinkID, stream StreamID) *chunk {
	for i := len(f.chunks) - 1; ; i-- {
		if ch := &f.chunks[i]; ch.link == id && ch.stream == stream {
			return ch
		}
	}
}

// mostOwed is the link's request of which most is missing, without those that have a duplicate, and
// those of connections that share the first one's, which do not take from each other; nil if there
// is none.
func (f *flight) mostOwed(id LinkID) *chunk {
	var most *chunk
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.link == id && ch.duplicate == NoChunk && !f.links[id].streams.fresh(ch.stream) && (most == nil || ch.left() > most.left()) {
			most = ch
		}
	}
	return most
}

// at is the set of a link's connections that have requests for a file, a bit each.
func (f *flight) at(slot int32, id LinkID) (streams uint64) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.slot == slot && ch.link == id {
			streams |= 1 << ch.stream
		}
	}
	return streams
}

// owed is how many bytes a link's requests, copies included, have not received.
func (f *flight) owed(id LinkID) (n int64) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.link == id {
			n += ch.left()
		}
	}
	return n
}

// unreceived appends what the requests that are no copies have not received to dst, as far as it lies
// within r.
func (f *flight) unreceived(r Range, dst []Range) []Range {
	for i := range f.chunks {
		ch := &f.chunks[i]
		if m := ch.rest().within(r); !m.Empty() && !ch.copy {
			dst = append(dst, m)
		}
	}
	return dst
}

// first is the request, no copy, that has the first of the bytes that were not received; nil:
// there is none.
func (f *flight) first() (first *chunk) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; !ch.copy && ch.left() > 0 && (first == nil || ch.rest().Off < first.rest().Off) {
			first = ch
		}
	}
	return first
}

// head is where the first byte lies that nobody has; the end if there is none.
func (f *flight) head() int64 {
	at := f.freeMap.head()
	for i := range f.chunks {
		if ch := &f.chunks[i]; !ch.copy && ch.left() > 0 {
			at = min(at, ch.rng.Off+ch.got)
		}
	}
	return at
}

// left is how many bytes have not been received, as far as is known.
func (f *flight) left() int64 {
	n := f.freeMap.unasked()
	for i := range f.links {
		n += f.links[i].load.owed()
	}
	return n
}

// total is how many bytes there are to fetch in all, as far as is known.
func (f *flight) total() int64 { return f.freeMap.received + f.left() }

// missing appends what of r is wanted and has not been received to dst, sorted and joined.
func (f *flight) missing(r Range, dst []Range) []Range {
	first := len(dst)
	dst = f.unreceived(r, f.freeMap.missing(r, dst))
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

// done appends the ranges of one object that have been received to dst, sorted and joined.
func (f *flight) done(dst []Range) []Range {
	at := int64(0)
	for _, m := range f.missing(Range{End: f.freeMap.end}, nil) {
		if m.Off > at {
			dst = append(dst, Range{at, m.Off})
		}
		at = m.End
	}
	if at < f.freeMap.end {
		dst = append(dst, Range{at, f.freeMap.end})
	}
	return dst
}

func sortRanges(r []Range) {
	slices.SortFunc(r, func(a, b Range) int { return cmp.Compare(a.Off, b.Off) })
}

// start has a stream ask for a part that was taken from the free map; nothing if the part is empty.
func (f *flight) start(id LinkID, stream StreamID, p part, out []Action) []Action {
	if p.Empty() {
		return out
	}
	l := &f.links[id]
	undelayed := l.alone(stream)
	if l.load.requests == 0 {
		l.health.lastByte = f.now
	}
	if l.load.begin(stream) {
		l.streams.conn[stream].heard = f.now
	} else {
		l.streams.piped |= 1 << stream
	}
	l.linkUse.asked, l.linkUse.cheapIdle = true, false
	l.streams.begun |= 1 << stream
	l.load.owe(stream, p.Len())
	l.load.assigned += p.Len()
	ch := f.add(chunk{link: id, stream: stream, rng: p.Range, issued: f.now, duplicate: NoChunk, undelayed: undelayed, ofFile: ofFile{slot: p.slot, class: p.class, piece: p.piece, guess: p.guess}})
	f.freeMap.files[p.slot].chunks++
	f.doubt(ch, p.Len()-f.freeMap.guesses.likely(&p))
	return append(out, Action{Kind: Start, Link: id, Stream: stream, Chunk: ch.id, Range: p.Range})
}

// shorten takes the last n bytes from a request that is no copy.
func (f *flight) shorten(ch *chunk, n int64) {
	ch.rng.End -= n
	o := &f.links[ch.link].load
	o.owe(ch.stream, -n)
	o.assigned -= n
}

// shrunk tells the new end of request i, or withdraws it if it has received all bytes before that.
func (f *flight) shrunk(i int, out []Action) []Action {
	if ch := &f.chunks[i]; ch.left() > 0 {
		return append(out, shrink(ch))
	}
	return f.withdraw(i, out)
}

// withdraw cancels request i.
func (f *flight) withdraw(i int, out []Action) []Action {
	return f.end(i, append(out, cancel(&f.chunks[i])))
}

// end forgets request i; bytes that it has not received are free again.
func (f *flight) end(i int, out []Action) []Action {
	ch := f.chunks[i]
	l := &f.links[ch.link]
	last := l.load.end(ch.stream)
	if last {
		l.streams.piped &^= 1 << ch.stream
	}
	if ch.left() > 0 || last {
		l.dropGap(ch.stream)
	}
	if l.load.requests == 0 {
		l.health.probing = false
	}
	if ch.left() > 0 {
		l.streams.broken |= 1 << ch.stream
		if f.cfg.Batch {
			l.streams.cutShort(ch.stream, f.next)
		}
	}
	l.listen(f.now)
	f.drop(i)
	if l.load.requests == 0 {
		l.est.idle(l.load.arrived())
		l.pace.pause()
	}
	if ch.copy {
		f.copied -= ch.rng.Len() - spent(&ch, ch.got)
	} else {
		l.load.owe(ch.stream, -ch.left())
		l.load.assigned -= ch.left()
	}
	f.restore(&ch)
	return f.unpair(&ch, out)
}

// release withdraws every request of a link.
func (f *flight) release(id LinkID, out []Action) []Action {
	for i := len(f.chunks) - 1; i >= 0; i-- {
		if f.chunks[i].link == id {
			out = f.withdraw(i, out)
		}
	}
	return out
}

// came notes that a request has received so many bytes more.
func (f *flight) came(ch *chunk, fresh int64) {
	if fresh <= 0 {
		return
	}
	if ch.guess { // nothing was voided, so the file is at least as long
		f.freeMap.guesses.learn(ch.piece.Len(), ch.piece.Len())
		f.resolve(ch.piece)
	}
	if !ch.copy {
		f.freeMap.received += fresh
		f.freeMap.settle(ch.slot, fresh, 0)
	}
}

// restore makes the bytes that an ending request has not received free again.
func (f *flight) restore(ch *chunk) {
	f.doubt(ch, 0)
	if !ch.copy {
		f.freeMap.give(ch.part(ch.rest()))
	}
	f.freeMap.settle(ch.slot, 0, -1)
}

// confirmSize notes that the size of a request's file is known.
func (f *flight) confirmSize(ch *chunk) {
	f.doubt(ch, 0)
	ch.guess = false
}

// doubt sets how many of a request's bytes are not likely to exist.
func (f *flight) doubt(ch *chunk, over int64) {
	f.links[ch.link].load.doubt(ch.stream, over-ch.over)
	ch.over = over
}

// untouched says whether ch has not been answered, over a link that has brought nothing.
func (f *flight) untouched(ch *chunk) bool {
	return ch.got == 0 && f.links[ch.link].load.received == 0
}
