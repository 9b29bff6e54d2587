package engine

import "sync"

const (
	// DefaultBlockSize is large enough for a file system to work in large folios; a
	// quarter of it costs half as much CPU again on ext4.
	DefaultBlockSize = 512 << 10
	// smallBlock is what a connection begins with, unless a size was asked for, and has
	// as long as it brings less: of slow ones there may be dozens.
	smallBlock = 64 << 10
)

// blocks lend memory for what is read.
type blocks struct {
	sizes [2]int // bytes of a small and of a large one
	pools [2]sync.Pool
}

// newBlocks makes blocks of size bytes, or of sizes of our own for 0.
func newBlocks(size int) *blocks {
	if size > 0 {
		return &blocks{sizes: [2]int{size, size}}
	}
	return &blocks{sizes: [2]int{smallBlock, DefaultBlockSize}}
}

// block is one that was lent.
type block struct {
	of    *blocks
	kind  int // 0: small, 1: large
	bytes *[]byte
}

func (b *blocks) get(kind int) block {
	p, ok := b.pools[kind].Get().(*[]byte)
	if !ok {
		made := make([]byte, b.sizes[kind])
		p = &made
	}
	return block{of: b, kind: kind, bytes: p}
}

func (b *block) put() { b.of.pools[b.kind].Put(b.bytes) }

// fit is a block that suits a connection which brought last bytes at once before.
func (b *block) fit(last int64) []byte {
	kind, small, large := b.kind, int64(b.of.sizes[0]), int64(b.of.sizes[1])
	switch {
	case small == large:
	case last >= small:
		kind = 1
	case last < small/2:
		kind = 0
	}
	if kind != b.kind {
		b.put()
		*b = b.of.get(kind)
	}
	return *b.bytes
}
