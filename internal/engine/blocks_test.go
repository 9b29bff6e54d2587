package engine

import "testing"

// TestBlocks: a connection that fills its block gets a larger one until it brings
// little again; who asked for a size has it.
func TestBlocks(t *testing.T) {
	b := newBlocks(0).get(0)
	for i, c := range []struct{ last, want int64 }{
		{0, smallBlock},
		{smallBlock - 1, smallBlock},
		{smallBlock, middleBlock},
		{middleBlock - 1, middleBlock},
		{middleBlock, DefaultBlockSize},
		{DefaultBlockSize, DefaultBlockSize},
		{middleBlock / 2, DefaultBlockSize}, // as often it brings a little more
		{middleBlock/2 - 1, middleBlock},
		{smallBlock / 2, middleBlock},
		{smallBlock/2 - 1, smallBlock},
		{0, smallBlock},
	} {
		if got := int64(len(b.fit(c.last))); got != c.want {
			t.Errorf("%d: %d bytes after %d came, want %d", i, got, c.last, c.want)
		}
	}
	b.put()
	own := newBlocks(20_000).get(0)
	for _, last := range []int64{0, 20_000, 100, 20_000} {
		if got := len(own.fit(last)); got != 20_000 {
			t.Errorf("%d bytes where 20000 were asked for", got)
		}
	}
	first := own.bytes
	own.fit(20_000)
	if own.bytes != first {
		t.Error("a block was changed for one of the same size")
	}
}
