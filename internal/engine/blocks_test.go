package engine

import (
	"slices"
	"testing"
)

// TestBlocks: a connection that fills its block gets a larger one until it brings
// little again; who asked for a size has it.
func TestBlocks(t *testing.T) {
	b, kind := newBlocks(0), 0
	for i, c := range []struct {
		last int64
		want int
	}{
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
		kind = b.fit(kind, c.last)
		block := b.get(kind)
		if got := len(block); got != c.want {
			t.Errorf("%d: %d bytes after %d came, want %d", i, got, c.last, c.want)
		}
		b.put(kind, block)
	}
	own := newBlocks(20_000)
	for _, last := range []int64{0, 20_000, 100, 20_000} {
		if got := len(own.get(own.fit(0, last))); got != 20_000 {
			t.Errorf("%d bytes where 20000 were asked for", got)
		}
	}
}

// TestShelf: what is put back is taken again, and no more is kept than there should be.
func TestShelf(t *testing.T) {
	s := freeList[int]{most: 2}
	for i := range 3 {
		s.put(i)
	}
	for _, want := range []int{1, 0} {
		if got, ok := s.get(); got != want || !ok {
			t.Errorf("%d, %v, want %d", got, ok, want)
		}
	}
	if got, ok := s.get(); got != 0 || ok {
		t.Errorf("%d, which should not have been kept", got)
	}
}

// TestBlocksOfFilesByThemselves: the engine of a file that a batch has set aside has the sizes that
// the batch has.
func TestBlocksOfFilesByThemselves(t *testing.T) {
	for _, size := range []int{0, 20_000} {
		e, err := New(Config{Algorithm: "3", BlockSize: size}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &batch{owner: owner{e: e}}
		aside, err := b.soloEngine(new(file))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := aside.blocks.sizes, e.blocks.sizes; !slices.Equal(got, want) {
			t.Errorf("blocks of %v, want %v", got, want)
		}
	}
}
