package engine

import "sync"

const (
	// DefaultBlockSize is large enough for a file system to work in large folios; a
	// quarter of it costs half as much CPU again on ext4.
	DefaultBlockSize = 512 << 10
	// smallBlock is what a connection begins with, unless a size was asked for, and has
	// as long as it brings less: of slow ones there may be dozens.
	// A record of TLS does not fill it, so that it shows whether more come at once.
	smallBlock = 20 << 10
	// middleBlock is for what comes in tens of packets at a time.
	middleBlock = 64 << 10
)

// blocks lend memory for what is read.
type blocks struct {
	sizes []int // bytes, from small to large
	pools []sync.Pool
}

// newBlocks makes blocks of size bytes, or of sizes of our own for 0.
func newBlocks(size int) *blocks {
	sizes := []int{smallBlock, middleBlock, DefaultBlockSize}
	if size > 0 {
		sizes = []int{size}
	}
	return &blocks{sizes: sizes, pools: make([]sync.Pool, len(sizes))}
}

// get lends a block of a kind, which is its place in sizes.
func (b *blocks) get(kind int) *[]byte {
	if p, ok := b.pools[kind].Get().(*[]byte); ok {
		return p
	}
	p := make([]byte, b.sizes[kind])
	return &p
}

func (b *blocks) put(kind int, p *[]byte) { b.pools[kind].Put(p) }

// fit is the kind of block that suits a connection which had one of kind, and brought last
// bytes at once before: the next larger one where they filled it, the next smaller one
// where they would not have filled half of that.
func (b *blocks) fit(kind int, last int64) int {
	switch {
	case last >= int64(b.sizes[kind]):
		return min(kind+1, len(b.sizes)-1)
	case kind > 0 && last < int64(b.sizes[kind-1])/2:
		return kind - 1
	}
	return kind
}
