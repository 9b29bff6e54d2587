package store

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// TestSlowDiskIsLeftToOrdinaryWrites: after a write that waited for the disk the runtime is
// told of writes for a second.
func TestSlowDiskIsLeftToOrdinaryWrites(t *testing.T) {
	b := &brief{begun: time.Now().Add(-time.Hour)}
	now := time.Since(b.begun)
	b.took(now, true)
	b.took(now-time.Minute, false) // it waited for a processor
	if !b.can() {
		t.Error("a quick write counts as slow")
	}
	b.took(now-6*time.Millisecond, true)
	if b.can() {
		t.Error("the next write may hold up a processor")
	}
	b.begun = b.begun.Add(-999 * time.Millisecond)
	if b.can() {
		t.Error("0.999 s later it may")
	}
	b.begun = b.begun.Add(-2 * time.Millisecond)
	if !b.can() {
		t.Error("1.001 s later it may not")
	}
	b.took(time.Since(b.begun), true)
	if !b.can() {
		t.Error("a quick write after that counts as slow")
	}
	if (*brief)(nil).can() {
		t.Error("a file system that may wait for others is written to without telling")
	}
}

// TestBriefWrite: what is written is what os.File reads, what cannot be written is left to
// os.File, and nothing is allocated.
func TestBriefWrite(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	must(t, err)
	defer f.Close() //nolint:errcheck // a test's own
	b := newBrief(f)
	if b == nil {
		t.Skip("the runtime is told of every write to this file system")
	}
	p := bytes.Repeat([]byte("0123456789"), 10_000)
	if n := b.writeAt(p, 5); n != len(p) {
		t.Fatalf("%d of %d bytes", n, len(p))
	}
	got := make([]byte, 5+len(p))
	if _, err := f.ReadAt(got, 0); err != nil || !bytes.Equal(got[5:], p) || !bytes.Equal(got[:5], make([]byte, 5)) {
		t.Errorf("%v, or other bytes", err)
	}
	if n := testing.AllocsPerRun(100, func() { b.writeAt(p, 5) }); n != 0 {
		t.Errorf("%g allocations a write", n)
	}
	if n := b.writeAt(p, -1); n != 0 {
		t.Errorf("%d bytes before the file's beginning", n)
	}
	must(t, f.Close())
	if n := b.writeAt(p, 5); n != 0 {
		t.Errorf("%d bytes to a closed file", n)
	}
}
