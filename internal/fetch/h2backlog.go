package fetch

import (
	"slices"
	"sync"
)

// pieceSize is how many bytes a piece holds, aheadSize among them; with their number it takes
// 18 KiB of memory.
const pieceSize = 18<<10 - 8

// piece is memory for bytes that were read from the connection and not yet by their stream's
// reader.
type piece struct {
	n   int // bytes in it
	buf [pieceSize]byte
}

// piecePool lends pieces to all connections of a link and their streams: where there are
// dozens, each needs some now and then, and few at the same time.
type piecePool struct{ sync.Pool }

func (p *piecePool) get() *piece {
	if b, ok := p.Get().(*piece); ok {
		b.n = 0
		return b
	}
	return new(piece)
}

// backlog is payload that was read from the connection and not yet by its stream's reader.
type backlog struct {
	pieces []*piece
	r      int   // where the first begins
	n      int64 // bytes in all of them
}

func (b *backlog) size() int64 { return b.n }

// write appends p.
func (b *backlog) write(p []byte, pool *piecePool) {
	b.n += int64(len(p))
	for len(p) > 0 {
		last := len(b.pieces) - 1
		if last < 0 || b.pieces[last].n == pieceSize {
			b.pieces = append(b.pieces, pool.get())
			last++
		}
		to := b.pieces[last]
		k := copy(to.buf[to.n:], p)
		to.n += k
		p = p[k:]
	}
}

// add appends what is in p, and p with it.
func (b *backlog) add(p *piece, pool *piecePool) {
	if last := len(b.pieces) - 1; last >= 0 && p.n <= pieceSize-b.pieces[last].n {
		b.write(p.buf[:p.n], pool)
		pool.Put(p)
		return
	}
	b.n += int64(p.n)
	b.pieces = append(b.pieces, p)
}

// read moves bytes to p.
func (b *backlog) read(p []byte, pool *piecePool) int {
	n := 0
	for n < len(p) && b.n > 0 {
		first := b.pieces[0]
		k := copy(p[n:], first.buf[b.r:first.n])
		n += k
		b.r += k
		b.n -= int64(k)
		if b.r == first.n {
			b.pop(pool)
		}
	}
	return n
}

// pop gives the first piece back.
func (b *backlog) pop(pool *piecePool) {
	pool.Put(b.pieces[0])
	b.pieces = slices.Delete(b.pieces, 0, 1)
	b.r = 0
}

// drop forgets all of it.
func (b *backlog) drop(pool *piecePool) {
	for len(b.pieces) > 0 {
		b.pop(pool)
	}
	b.n = 0
}
