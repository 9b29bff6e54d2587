package testbody

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"
)

func TestReadAtAgreesAtEveryOffset(t *testing.T) {
	b := Body{Size: 1003, Seed: 7}
	whole, err := io.ReadAll(b.Reader())
	if err != nil || len(whole) != 1003 {
		t.Fatalf("read %d bytes, %v", len(whole), err)
	}
	if err := iotest.TestReader(b.Reader(), whole); err != nil {
		t.Fatal(err)
	}
	for off := range int64(40) {
		for n := range 20 {
			p := make([]byte, n)
			if _, err := b.ReadAt(p, off); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p, whole[off:off+int64(n)]) {
				t.Fatalf("%d bytes at %d differ", n, off)
			}
		}
	}
}

func TestBlocksNeverRepeat(t *testing.T) {
	seen := map[string]bool{}
	b := Body{Size: 1 << 20}
	p := make([]byte, 512)
	for off := int64(0); off < b.Size; off += 512 {
		if _, err := b.ReadAt(p, off); err != nil {
			t.Fatal(err)
		}
		if seen[string(p)] {
			t.Fatalf("the block at %d stands elsewhere too", off)
		}
		seen[string(p)] = true
	}
	if (Body{Size: 100, Seed: 1}).SHA256() == (Body{Size: 100, Seed: 2}).SHA256() {
		t.Fatal("the seed changes nothing")
	}
}
