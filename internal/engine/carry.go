package engine

import (
	"context"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
)

// moveFrom is from how many bytes at a time on moving is cheaper than copying. Smaller portions come over
// slow links, in packets whose bytes have to be copied into pages first, and each takes a slot of the
// pipe.
const moveFrom = 128 << 10

// mover is a sink that takes bytes from a socket without their passing through
// memory.
type mover interface {
	MoveAt(m *store.Mover, n, off int64) (int64, error)
}

// carrier brings the bytes of a response to their sink. Where connection, file and system can, it moves
// them (splice), without a copy in memory; otherwise it copies blocks.
type carrier struct {
	e     *Engine
	t     *transfer
	resp  *fetch.Response
	to    sink
	kind  int    // of block
	block []byte // nil: none is needed yet

	file    mover
	movable bool         // file takes bytes from a pipe
	pipe    *store.Mover // nil: none was needed yet, or there is none
	stuck   bool         // pipe holds bytes that could not be written
	last    int64        // bytes that came at once before
}

func (e *Engine) newCarrier(t *transfer, resp *fetch.Response, to sink) *carrier {
	c := &carrier{e: e, t: t, resp: resp, to: to}
	c.file, c.movable = to.(mover)
	return c
}

func (c *carrier) close() {
	c.release()
	if c.pipe != nil {
		c.e.pipes.put(c.pipe, c.stuck)
	}
}

// carry brings at most want bytes, no more than a block, to their place at off.
// The bytes that it returns have been written.
func (c *carrier) carry(ctx context.Context, want, off int64) (n int64, err error) {
	there := int64(0)
	if c.resp.Waits() {
		c.release() // there may be dozens that wait
		there = c.resp.Wait(int(want))
	}
	if c.moves(want, there) {
		n, err = c.move(want, off)
	} else {
		n, err = c.copy(ctx, want, there, off)
	}
	c.last = n
	return n, err
}

// moves says whether moving is possible and pays, where so many bytes are there. A pipe, which is two
// descriptors, is made only then.
func (c *carrier) moves(want, there int64) bool {
	if least := min(moveFrom, int64(c.e.blocks.largest())); !c.movable || min(want, there) < least || !c.resp.Movable() {
		return false
	}
	if c.pipe == nil {
		c.pipe = c.e.pipes.get()
		c.movable = c.pipe != nil
	}
	return c.movable && c.pipe.Works()
}

func (c *carrier) move(want, off int64) (int64, error) {
	n, err := c.resp.Move(c.pipe, want)
	if n > 0 {
		if _, werr := c.file.MoveAt(c.pipe, n, off); werr != nil {
			c.stuck = true
			return 0, werr
		}
	}
	return n, err
}

// copy reads into a block, and writes that. The size of the block is chosen for what is there or, where
// that is not known (0), for what came at once before.
func (c *carrier) copy(ctx context.Context, want, there, off int64) (int64, error) {
	kind := c.e.blocks.fit(c.kind, c.last)
	if there > 0 {
		kind = c.e.blocks.least(there)
	}
	if kind != c.kind {
		c.release()
		c.kind = kind
	}
	want = min(want, int64(c.e.blocks.sizes[c.kind]))
	if c.block == nil {
		c.block = c.e.blocks.get(c.kind)
	}
	p := c.block[:want]
	n, err := c.resp.Read(p)
	if n > 0 {
		if werr := c.e.store(ctx, c.t, c.to, p[:n], off); werr != nil {
			return 0, werr
		}
	}
	return int64(n), err
}

// release gives the block back.
func (c *carrier) release() {
	if c.block != nil {
		c.e.blocks.put(c.kind, c.block)
		c.block = nil
	}
}

// pipes keeps the pipes that carriers are done with, for the next ones.
type pipes struct{ idle freeList[*store.Mover] }

// get is nil where there can be none.
func (p *pipes) get() *store.Mover {
	if m, ok := p.idle.get(); ok {
		return m
	}
	m, err := store.NewMover()
	if err != nil {
		return nil
	}
	return m
}

// put takes one back. One with bytes in it is of no more use.
func (p *pipes) put(m *store.Mover, stuck bool) {
	if stuck {
		_ = m.Close() // a pipe: nothing of it was promised to anybody
		return
	}
	p.idle.put(m)
}

func (p *pipes) close() {
	for m, ok := p.idle.get(); ok; m, ok = p.idle.get() {
		_ = m.Close()
	}
}
