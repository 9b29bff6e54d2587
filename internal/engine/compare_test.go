package engine

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// TestLargeWritesAreComparedWithWhatAStreamHasHandedOn: of a stream only the last bytes that its
// consumer has taken can still be read, and a write that begins before them has to bring the same.
func TestLargeWritesAreComparedWithWhatAStreamHasHandedOn(t *testing.T) {
	const had = 300 << 10
	s := newStreamSink(io.Discard, "-")
	defer s.Close() //nolint:errcheck // of a test
	if _, err := s.WriteAt(make([]byte, had), 0); err != nil {
		t.Fatal(err)
	}
	s.Release(had)
	for s.Drained() < had {
		<-s.Moved()
	}
	for _, n := range []int64{4 << 10, 32 << 10, 100 << 10, 256 << 10, had} {
		c := comparingSink{sink: s, kept: []scheduler.Range{{End: had}}, differs: errDiffers}
		if _, err := c.WriteAt(make([]byte, n), had-n); err != nil {
			t.Errorf("%d bytes that are the same: %v", n, err)
		}
		if _, err := c.WriteAt(bytes.Repeat([]byte{1}, int(n)), had-n); !errors.Is(err, ErrChanged) {
			t.Errorf("%d bytes that differ: %v", n, err)
		}
	}
}
