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
	w.init(iotest.HalfReader(bytes.NewReader(text)), nil, &piecePool{})
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
	if w.lent != nil {
		t.Error("more than its own memory for small frames")
	}
	for _, n := range []int{frameHead, 3000, frameHead + maxFrame} { // with a part of it ahead
		if err := w.fill(n); err != nil {
			t.Fatal(err)
		}
		check("large", n)
	}
	w.r = w.w
	at += frameHead + maxFrame
	if err := w.fill(frameHead); err != nil || w.lent != nil {
		t.Errorf("%v, or what a large frame needed was kept", err)
	}

	w.keep(text[:frameHead]) // of which 4 bytes are payload
	w.r = frameHead - 4
	for _, want := range [][]byte{text[frameHead-4 : frameHead], text[at+frameHead : at+frameHead+maxFrame]} {
		p, err := w.take(maxFrame)
		if err != nil || !bytes.Equal(p.buf[:p.n], want[:p.n]) || p.n < 4 {
			t.Errorf("took other bytes than came, or none (%v)", err)
		}
	}

	w = wire{}
	w.init(nil, nil, &piecePool{})
	w.keep(text[:maxFrame])
	if at = 0; len(w.ahead()) != maxFrame {
		t.Fatal("not all was kept")
	}
	check("kept", maxFrame)
}
