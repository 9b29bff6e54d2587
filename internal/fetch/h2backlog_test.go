package fetch

import (
	"bytes"
	"testing"

	"github.com/mlget/mlget/internal/race"
	"github.com/mlget/mlget/internal/testbody"
)

// TestBacklog: what goes in comes out.
func TestBacklog(t *testing.T) {
	var b backlog
	var pool piecePool
	var in, out bytes.Buffer
	body := testbody.Body{Size: 1 << 30}
	p := make([]byte, 40_000)
	for i := range 200 {
		n := (i * 7919) % len(p)
		if _, err := body.ReadAt(p[:n], int64(in.Len())); err != nil {
			t.Fatal(err)
		}
		in.Write(p[:n])
		b.write(p[:n], &pool)
		k := b.read(p[:(i*104729)%len(p)], &pool)
		out.Write(p[:k])
		if b.size() != int64(in.Len()-out.Len()) {
			t.Fatalf("%d bytes, want %d", b.size(), in.Len()-out.Len())
		}
	}
	for b.size() > 0 {
		out.Write(p[:b.read(p, &pool)])
	}
	if !bytes.Equal(in.Bytes(), out.Bytes()) {
		t.Error("other bytes")
	}
	b.write(p, &pool)
	b.drop(&pool)
	if n := b.read(p, &pool); n != 0 || b.size() != 0 {
		t.Errorf("%d bytes after drop", n)
	}
}

// TestBacklogsShareMemory: what has waited on one connection leaves its memory to others.
func TestBacklogsShareMemory(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector has pools forget things")
	}
	var streams [64]backlog
	var pool piecePool
	p := make([]byte, 100_000)
	around := func() {
		for i := range streams {
			streams[i].write(p, &pool)
			for streams[i].size() > 0 {
				streams[i].read(p[:30_000], &pool)
			}
		}
	}
	around()
	if n := testing.AllocsPerRun(20, around); n > 7 { // a collection may come between
		t.Errorf("%.0f allocations for what %d streams keep by turns", n, len(streams))
	}
}
