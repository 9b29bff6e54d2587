package store

import (
	"errors"
	"io"
	"slices"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestBeyondFourGiB: offsets that 32 bits do not hold, on disk and in the
// journal. Little of the file is written; its room is reserved all the same.
func TestBeyondFourGiB(t *testing.T) {
	const size, four, piece = 4<<30 + 300_001, 4 << 30, 64 << 10
	id := object
	id.Size = size
	big := testbody.Body{Seed: 7, Size: size}
	written := []scheduler.Range{
		{Off: 0, End: piece}, {Off: four - piece/2, End: four + piece/2}, {Off: size - piece, End: size},
	}
	to := Target{Dir: t.TempDir()}
	f := open(t, to, hereURL)
	if err := f.Begin(id); errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EFBIG) || errors.Is(err, syscall.EDQUOT) {
		must(t, f.Close())
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	for _, r := range written {
		write(t, f, big, r)
	}
	if _, err := f.WriteAt([]byte("xx"), size-1); !errors.Is(err, ErrOutside) {
		t.Errorf("beyond the end: %v", err)
	}
	must(t, f.Suspend(written))
	must(t, f.Close())

	f = open(t, to, hereURL)
	got, done, ok := f.Resume()
	if !ok || got.Size != size || !slices.Equal(done, written) {
		t.Fatalf("resumed %+v of %d bytes, %v", done, got.Size, ok)
	}
	must(t, f.Begin(id))
	for _, r := range written {
		have := make([]byte, r.Len())
		if _, err := f.ReadAt(have, r.Off); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, r.Len())
		if _, err := big.ReadAt(want, r.Off); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if !slices.Equal(have, want) {
			t.Errorf("%v is not what was written", r)
		}
	}
	must(t, f.Reject())
	must(t, f.Close())
}
