package fetch

import (
	"bytes"
	"testing"
	"testing/iotest"
)

// TestWireGrows: memory for what is read ahead is taken as frames need it, and what had
// been read stays.
func TestWireGrows(t *testing.T) {
	text := make([]byte, 3*aheadSize)
	for i := range text {
		text[i] = byte(i * 131 >> 3)
	}
	var w wire
	w.init(iotest.HalfReader(bytes.NewReader(text)), nil)
	at := 0
	check := func(what string, n int) {
		t.Helper()
		if got := w.ahead(); len(got) < n || !bytes.Equal(got, text[at:at+len(got)]) {
			t.Fatalf("%s: %d bytes ahead of %d, or others than were sent", what, len(got), n)
		}
	}
	for range 30 { // a small frame's header, then the rest of it
		for _, n := range []int{frameHead, frameHead + 200} {
			if err := w.fill(n); err != nil {
				t.Fatal(err)
			}
			check("small", n)
		}
		w.r += frameHead + 200
		at += frameHead + 200
	}
	if len(w.buf) != aheadFirst {
		t.Errorf("%d bytes of memory for small frames, want %d", len(w.buf), aheadFirst)
	}
	for _, n := range []int{frameHead, 3000, frameHead + maxFrame} { // with a part of it ahead
		if err := w.fill(n); err != nil {
			t.Fatal(err)
		}
		check("large", n)
	}
	if len(w.buf) > aheadSize {
		t.Errorf("%d bytes of memory for the largest frame, more than %d", len(w.buf), aheadSize)
	}

	w = wire{}
	w.init(bytes.NewReader(text), nil)
	if b, err := w.some(maxFrame); err != nil || !bytes.Equal(b, text[:maxFrame]) {
		t.Errorf("some: %d bytes (%v)", len(b), err)
	}
	w = wire{}
	w.init(nil, nil)
	w.keep(text[:maxFrame])
	if at = 0; len(w.ahead()) != maxFrame {
		t.Fatal("not all was kept")
	}
	check("kept", maxFrame)
}
