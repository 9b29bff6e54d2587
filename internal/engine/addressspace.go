package engine

import (
	"slices"
	"sort"

	"github.com/mlget/mlget/pkg/scheduler"
)

// addressMost bounds the address space, with room for sums over all files that have been
// begun: what a server says of sizes may be anything.
const addressMost = int64(1) << 50

// fits says whether there is room for a file of size bytes.
func (s *addressSpace) fits(size int64) bool { return size <= addressMost-s.end }

// addressSpace is the address space in which a batch's files lie one behind the other, in
// pieces: what the scheduler schedules.
type addressSpace struct {
	end     int64             // of the last piece
	pieces  []piece           // by address; those dropped are cleared away now and then
	dropped int               // how many were dropped
	gaps    []scheduler.Range // scratch
}

// piece is bytes of one file that lie together.
type piece struct {
	at  scheduler.Range // addresses
	off int64           // of the first byte, in its file
	of  *file           // nil: it was dropped
}

// offset is the file's byte at an address.
func (p *piece) offset(at int64) int64 { return at - p.at.Off + p.off }

// add lays bytes of a file at the end.
func (s *addressSpace) add(f *file, off, length int64) piece {
	p := piece{at: scheduler.Range{Off: s.end, End: s.end + length}, off: off, of: f}
	s.end = p.at.End
	s.pieces = append(s.pieces, p)
	f.pieces = append(f.pieces, p)
	return p
}

// find is the piece at an address that was laid out.
func (s *addressSpace) find(at int64) *piece {
	i := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].at.End > at })
	return &s.pieces[i]
}

// leastGone is how many pieces of files that are gone are worth a clearing.
const leastGone = 256

// drop forgets the pieces of a file: nothing more is asked for at their addresses.
func (s *addressSpace) drop(f *file) {
	for i := range f.pieces {
		s.find(f.pieces[i].at.Off).of = nil
	}
	s.dropped += len(f.pieces)
	f.pieces = f.pieces[:0]
	if s.dropped < leastGone || s.dropped < len(s.pieces)/2 {
		return
	}
	s.pieces = slices.DeleteFunc(s.pieces, func(p piece) bool { return p.of == nil })
	s.dropped = 0
}
