package scheduler

import "slices"

// flight is the requests that are under way, in the order of their ids.
type flight struct {
	chunks []chunk // a part of space
	space  []chunk
	next   ChunkID
}

func newFlight(most int) flight {
	f := flight{space: make([]chunk, 0, most)}
	f.chunks = f.space
	return f
}

// find gives the index of a request, or -1.
func (f *flight) find(id ChunkID) int {
	low, high := 0, len(f.chunks)
	for low < high {
		if mid := (low + high) / 2; f.chunks[mid].id < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(f.chunks) && f.chunks[low].id == id {
		return low
	}
	return -1
}

// add adds a request, in the room that those have left that are gone, and gives it its id.
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

// latest is the request that was added last, of which there must be one.
func (f *flight) latest() *chunk { return &f.chunks[len(f.chunks)-1] }

// drop takes the i-th request out. The old ones are the first to end: what is on the
// shorter side moves up.
func (f *flight) drop(i int) {
	if i >= len(f.chunks)/2 {
		f.chunks = slices.Delete(f.chunks, i, i+1)
		return
	}
	copy(f.chunks[1:], f.chunks[:i])
	f.chunks = f.chunks[1:]
}

// youngest is the latest of a stream's requests, of which there must be one.
func (f *flight) youngest(id LinkID, stream StreamID) *chunk {
	for i := len(f.chunks) - 1; ; i-- {
		if ch := &f.chunks[i]; ch.link == id && ch.stream == stream {
			return ch
		}
	}
}

// stuck is the link's request of which most is missing; nil when there is none that could be
// shared.
func (f *flight) stuck(id LinkID) *chunk {
	var most *chunk
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.link == id && ch.duplicate == NoChunk && (most == nil || ch.left() > most.left()) {
			most = ch
		}
	}
	return most
}

// at is the set of a link's connections that have requests for a file.
func (f *flight) at(slot int32, id LinkID) (streams uint64) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.slot == slot && ch.link == id {
			streams |= 1 << ch.stream
		}
	}
	return streams
}

// owed is how many bytes a link's requests have not received.
func (f *flight) owed(id LinkID) (n int64) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.link == id {
			n += ch.left()
		}
	}
	return n
}

// rests appends what the requests that are no copies have not received to dst, as far as it lies
// within r.
func (f *flight) rests(r Range, dst []Range) []Range {
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

// head is where the first byte lies that a request has not received; end if there is none before.
func (f *flight) head(end int64) int64 {
	for i := range f.chunks {
		if ch := &f.chunks[i]; !ch.copy && ch.left() > 0 {
			end = min(end, ch.rng.Off+ch.got)
		}
	}
	return end
}
