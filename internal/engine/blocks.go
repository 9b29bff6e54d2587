package engine

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
	// idleBlocks of each size are kept. A collector that runs seldom, as nothing is thrown
	// away, would leave all that were ever needed at once.
	idleBlocks = 4
)

// blocks lend memory for what is read.
type blocks struct {
	sizes []int // bytes, from small to large
	idle  []freeList[[]byte]
}

// newBlocks makes blocks of size bytes, or of sizes of our own for 0.
func newBlocks(size int) *blocks {
	sizes := []int{smallBlock, middleBlock, DefaultBlockSize}
	if size > 0 {
		sizes = []int{size}
	}
	b := &blocks{sizes: sizes, idle: make([]freeList[[]byte], len(sizes))}
	for i := range b.idle {
		b.idle[i].most = idleBlocks
	}
	return b
}

// largest is how many bytes a block has at most.
func (b *blocks) largest() int { return b.sizes[len(b.sizes)-1] }

// get lends a block of a kind, which is its place in sizes.
func (b *blocks) get(kind int) []byte {
	if p, ok := b.idle[kind].get(); ok {
		return p
	}
	return make([]byte, b.sizes[kind])
}

func (b *blocks) put(kind int, p []byte) { b.idle[kind].put(p) }

// least is the kind of block that holds n bytes, or the largest one.
func (b *blocks) least(n int64) int {
	for kind, size := range b.sizes {
		if n <= int64(size) {
			return kind
		}
	}
	return len(b.sizes) - 1
}

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
