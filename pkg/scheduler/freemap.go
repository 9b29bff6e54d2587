package scheduler

import (
	"slices"
	"sort"
)

const (
	// unforeseen is how many bytes a batch is taken to have to come before the first Expected:
	// more than a run carries.
	unforeseen = int64(1) << 44
	// unsized stands for the size of an object while the server has not told it.
	unsized = int64(1) << 62
	// noSlot is the slot of files that are not in progress.
	noSlot int32 = -1
)

// part is free bytes of one piece.
type part struct {
	Range
	piece Range // the piece as it was Added
	class Class
	file  int32
	slot  int32 // the file's place in freeMap.files; noSlot while it is not in progress
	guess bool  // the file's size is not known
}

// unconfirmed says whether the beginning of a file of unknown size has been asked for: until the
// size is known these bytes, which may not exist, are not.
func (p *part) unconfirmed() bool { return p.guess && p.Off > p.piece.Off }

// freeList is a list of free parts in the order of their addresses. The files in progress have few;
// of the others only the first part is ever taken, so that head is enough.
type freeList struct {
	parts []part // those before head are gone
	head  int
	bytes int64 // in all parts, guesses with all bytes of their pieces
}

func (s *freeList) live() []part { return s.parts[s.head:] }

func (s *freeList) empty() bool { return s.head == len(s.parts) }

// remove takes out the i-th part.
func (s *freeList) remove(i int) {
	s.bytes -= s.parts[s.head+i].Len()
	if i > 0 {
		s.parts = slices.Delete(s.parts, s.head+i, s.head+i+1)
		return
	}
	s.head++
	if s.head >= 64 && s.head > len(s.parts)/2 {
		n := copy(s.parts, s.parts[s.head:])
		s.parts, s.head = s.parts[:n], 0
	}
}

// index is the place where a part that begins at off belongs.
func (s *freeList) index(off int64) int {
	live := s.live()
	return sort.Search(len(live), func(i int) bool { return live[i].Off >= off })
}

// first is the place of the first part that ends behind off.
func (s *freeList) first(off int64) int {
	i := s.index(off)
	if i > 0 && s.live()[i-1].End > off {
		i--
	}
	return i
}

func (s *freeList) put(p part) {
	s.bytes += p.Len()
	i := s.index(p.Off)
	live := s.live()
	if !p.guess {
		if i > 0 && live[i-1].End == p.Off && live[i-1].piece == p.piece && !live[i-1].guess {
			live[i-1].End = p.End
			if i < len(live) && live[i].Off == p.End && live[i].piece == p.piece {
				live[i-1].End = live[i].End
				s.parts = slices.Delete(s.parts, s.head+i, s.head+i+1)
			}
			return
		}
		if i < len(live) && live[i].Off == p.End && live[i].piece == p.piece && !live[i].guess {
			live[i].Off = p.Off
			return
		}
	}
	if i == 0 && s.head > 0 {
		s.head--
		s.parts[s.head] = p
		return
	}
	s.parts = slices.Insert(s.parts, s.head+i, p)
}

// begun is a file in progress: from its first request to its last byte.
type begun struct {
	file   int32
	chunks int32 // its requests in flight
	owed   int64 // bytes of its pieces in progress that have not been received
}

// freeMap knows which bytes nobody has and nobody was asked for. One object is a single piece that
// is in progress from the beginning.
type freeMap struct {
	end      int64                // where the last piece ends; unsized while one object's size is unknown
	received int64                // bytes, each counted once
	fresh    [MaxClasses]freeList // of pieces that were not asked for yet
	open     [MaxClasses]freeList // of pieces in progress
	files    []begun              // by slot
	spare    []int32              // slots of no file
	slots    map[int32]int32      // of the files in progress, by their numbers

	sized    bool  // how many bytes there are is known: of a batch, expected has been told
	expected int64 // bytes that are still to be Added

	guesses guesses
}

// newFreeMap is the map of one object, of which the ranges have are there.
func newFreeMap(size int64, have []Range) freeMap {
	s := freeMap{end: size, sized: size >= 0}
	if !s.sized {
		s.end = unsized
	}
	s.open[0].parts = make([]part, 0, 64)
	s.begin(0)
	at := int64(0)
	put := func(end int64) {
		if r := (Range{at, min(end, s.end)}); !r.Empty() {
			s.files[0].owed += r.Len()
			s.open[0].put(part{Range: r, piece: Range{End: s.end}})
		}
	}
	for _, h := range have {
		put(h.Off)
		at = max(at, h.End)
	}
	put(s.end)
	return s
}

// resize sets the size of one object, once it is known, and forgets what lies beyond it.
func (s *freeMap) resize(size int64) {
	s.cut(Range{size, s.end})
	s.end, s.sized = size, true
}

// takeLast takes the last n free bytes of one object before limit that lie together, or as many as
// lie there; there may be none.
func (s *freeMap) takeLast(n, limit int64) part {
	i := s.open[0].index(limit) - 1
	if i < 0 || n <= 0 {
		return part{}
	}
	p := s.open[0].live()[i]
	s.open[0].remove(i)
	before, behind := p, p
	p.End = min(p.End, limit)
	p.Off = max(p.Off, p.End-n)
	before.End, behind.Off = p.Off, p.End
	s.give(before)
	s.give(behind)
	return p
}

// add takes in a piece; it is ignored where it does not follow the one before.
func (s *freeMap) add(p Piece) {
	if p.Range.Empty() || p.Range.Off < s.end || p.Range.End > unsized || p.Class >= MaxClasses {
		return
	}
	s.end = p.Range.End
	q := part{Range: p.Range, piece: p.Range, class: p.Class, file: p.File, slot: s.find(p.File), guess: p.Guess}
	s.guesses.count(&q, 1)
	if q.slot == noSlot {
		s.fresh[p.Class].put(q)
		return
	}
	s.files[q.slot].owed += q.Len()
	s.open[p.Class].put(q)
}

// find is the slot of a file in progress.
func (s *freeMap) find(file int32) int32 {
	if slot, ok := s.slots[file]; ok {
		return slot
	}
	return noSlot
}

func (f *begun) busy() bool { return f.owed > 0 || f.chunks > 0 }

// begin gives a file a place among those in progress.
func (s *freeMap) begin(file int32) int32 {
	slot := int32(len(s.files))
	if n := len(s.spare); n > 0 {
		slot = s.spare[n-1]
		s.spare = s.spare[:n-1]
		s.files[slot] = begun{file: file}
	} else {
		s.files = append(s.files, begun{file: file})
	}
	if s.slots == nil {
		s.slots = make(map[int32]int32)
	}
	s.slots[file] = slot
	return slot
}

// settle notes that a file is owed so many bytes less, and has so many requests more in flight.
func (s *freeMap) settle(slot int32, bytes int64, chunks int32) {
	f := &s.files[slot]
	f.owed -= bytes
	if f.chunks += chunks; !f.busy() {
		s.spare = append(s.spare, slot)
		delete(s.slots, f.file)
	}
}

// bytes is how many bytes are free, with files of unknown size at their likely sizes.
func (s *freeMap) bytes() (n int64) {
	for k := range s.fresh {
		n += s.fresh[k].bytes + s.open[k].bytes
	}
	return n - s.guesses.excess()
}

// empty says whether nothing is free.
func (s *freeMap) empty() bool {
	for k := range s.fresh {
		if !s.fresh[k].empty() || !s.open[k].empty() {
			return false
		}
	}
	return true
}

// more is how many bytes are still to be Added.
func (s *freeMap) more() int64 {
	if !s.sized {
		return unforeseen
	}
	return s.expected
}

// head is where the first free byte of one object lies; its end if none is free.
func (s *freeMap) head() int64 {
	if s.open[0].empty() {
		return s.end
	}
	return s.open[0].live()[0].Off
}

// unasked is how many bytes nobody was asked for, those that are still to be Added included.
func (s *freeMap) unasked() int64 { return s.bytes() + s.more() }

// exhausted says whether there is nothing left that could be asked for.
func (s *freeMap) exhausted() bool { return s.last() && s.empty() }

// last says whether all that there is to fetch is known.
func (s *freeMap) last() bool { return s.sized && s.expected == 0 }

func (s *freeMap) freeList(k Class, fresh bool) *freeList {
	if fresh {
		return &s.fresh[k]
	}
	return &s.open[k]
}

// take takes the first n bytes of the i-th part of a list. The rest of its piece is in progress then.
func (s *freeMap) take(k Class, fresh bool, i int, n int64) part {
	from := s.freeList(k, fresh)
	p := from.live()[i]
	s.guesses.count(&p, -1)
	if fresh {
		from.remove(i)
		if p.slot = s.find(p.file); p.slot == noSlot {
			p.slot = s.begin(p.file)
		}
		s.files[p.slot].owed += p.Len()
		if n < p.Len() {
			rest := p
			rest.Off += n
			s.give(rest)
		}
	} else if n < p.Len() {
		rest := &from.live()[i]
		rest.Off += n
		s.guesses.count(rest, 1)
		from.bytes -= n
	} else {
		from.remove(i)
	}
	p.End = min(p.End, p.Off+n)
	return p
}

// give makes a part of a file in progress free again.
func (s *freeMap) give(p part) {
	if p.Empty() {
		return
	}
	s.guesses.count(&p, 1)
	s.open[p.class].put(p)
}

// resolve notes that the size of a piece in progress is known.
func (s *freeMap) resolve(piece Range) {
	for k := range s.open {
		live := s.open[k].live()
		i := s.open[k].index(piece.Off)
		for ; i < len(live) && live[i].Off < piece.End; i++ {
			if live[i].guess {
				s.guesses.count(&live[i], -1)
				live[i].guess = false
			}
		}
	}
}

// cut makes nothing of r free any more.
func (s *freeMap) cut(r Range) {
	for k := range s.fresh {
		s.cutFrom(&s.fresh[k], r)
		s.cutFrom(&s.open[k], r)
	}
}

func (s *freeMap) cutFrom(from *freeList, r Range) {
	i := from.first(r.Off)
	for i < len(from.live()) && from.live()[i].Off < r.End {
		p := from.live()[i]
		s.guesses.count(&p, -1)
		from.remove(i)
		if p.guess && p.Off < r.Off {
			s.guesses.learn(p.piece.Len(), r.Off-p.piece.Off)
		}
		gone := p.Len()
		for _, rest := range [...]Range{{p.Off, min(p.End, r.Off)}, {max(p.Off, r.End), p.End}} {
			if rest.Empty() {
				continue
			}
			gone -= rest.Len()
			q := p
			q.Range, q.guess = rest, false // a driver that voids a part of a file knows its size
			from.put(q)
		}
		i = from.index(r.Off)
		if p.slot != noSlot {
			s.settle(p.slot, gone, 0)
		}
	}
}

// missing appends what of r is free, in no order.
func (s *freeMap) missing(r Range, dst []Range) []Range {
	for k := range s.fresh {
		for _, sh := range [...]*freeList{&s.fresh[k], &s.open[k]} {
			for _, p := range sh.live()[sh.first(r.Off):] {
				if p.Off >= r.End {
					break
				}
				dst = append(dst, p.within(r))
			}
		}
	}
	return dst
}

// within is what of a range lies in another.
func (r Range) within(o Range) Range { return Range{max(r.Off, o.Off), min(r.End, o.End)} }
