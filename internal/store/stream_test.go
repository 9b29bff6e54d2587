package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// gate is a consumer that takes nothing until it is let.
type gate struct {
	let chan struct{}
	bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.let
	return g.Buffer.Write(p)
}

// Several writers fill the window in any order and in any sizes, with some
// bytes twice; the consumer, a real pipe, takes odd amounts.
func TestStreamPutsInOrder(t *testing.T) {
	const window = 100_003 // no divisor of anything
	b := testbody.Body{Size: 3<<20 + 17, Seed: 2}
	r, w, err := os.Pipe()
	must(t, err)
	sum := make(chan string, 1)
	go func() {
		h := sha256.New()
		_, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{r}, make([]byte, 7777))
		if err != nil {
			t.Error(err)
		}
		sum <- hex.EncodeToString(h.Sum(nil))
	}()
	s := released(w, window)
	for at := int64(0); at < b.Size; {
		// As the scheduler does: nothing beyond what is drained plus window.
		end := min(b.Size, s.Drained()+window)
		if end == at {
			<-s.Moved()
			continue
		}
		var group sync.WaitGroup
		for _, block := range shuffled(at, end) {
			group.Go(func() {
				p := make([]byte, block.Len())
				_, _ = b.ReadAt(p, block.Off) // within the body
				if _, err := s.WriteAt(p, block.Off); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		at = end
	}
	must(t, s.Finish(t.Context(), b.Size))
	if s.Drained() != b.Size || s.Err() != nil {
		t.Fatal(s.Drained(), s.Err())
	}
	must(t, w.Close())
	if got := <-sum; got != b.SHA256() {
		t.Fatal("the consumer saw other bytes")
	}
	must(t, r.Close())
}

// shuffled cuts [at,end) into blocks of random sizes, some of which reach into
// the next ones, in random order.
func shuffled(at, end int64) []scheduler.Range {
	var out []scheduler.Range
	for off := at; off < end; {
		n := 1 + rand.Int64N(9000)
		out = append(out, scheduler.Range{Off: off, End: min(off+n+rand.Int64N(2)*n/2, end)})
		off += n
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func TestStreamWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{let: make(chan struct{})}
		s := released(g, 100)
		b := testbody.Body{Size: 300, Seed: 1}
		whole := []byte(bodyString(t, b))
		for _, c := range []struct {
			off, end int64
			ok       bool
		}{{-1, 5, false}, {0, 101, false}, {100, 101, false}, {50, 100, true}, {1 << 62, 1<<62 + 1, false}, {0, 50, true}, {100, 100, true}} {
			p := make([]byte, c.end-c.off)
			if c.ok {
				copy(p, whole[c.off:c.end])
			}
			if _, err := s.WriteAt(p, c.off); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrOutside) {
				t.Fatalf("[%d,%d): %v", c.off, c.end, err)
			}
		}
		synctest.Wait()
		if s.Drained() != 0 {
			t.Fatal("drained before the consumer took anything")
		}
		close(g.let)
		<-s.Moved()
		synctest.Wait()
		if s.Drained() != 100 {
			t.Fatal(s.Drained())
		}
		// What was handed on is passed over; the rest of the block counts.
		if n, err := s.WriteAt(whole[50:200], 50); n != 150 || err != nil {
			t.Fatal(n, err)
		}
		synctest.Wait()
		if _, err := s.WriteAt(whole[201:300], 201); err != nil {
			t.Fatal(err)
		}
		if err := s.Finish(t.Context(), 300); !errors.Is(err, ErrIncomplete) {
			t.Fatal(err) // byte 200 is missing
		}
		if !bytes.Equal(g.Bytes(), whole[:200]) {
			t.Fatal("wrong bytes")
		}
		if _, err := s.WriteAt(whole[200:201], 200); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	})
}

func TestEmptyStream(t *testing.T) {
	var b bytes.Buffer
	must(t, released(&b, 10).Finish(t.Context(), 0))
	if err := released(&b, 10).Finish(t.Context(), 1); !errors.Is(err, ErrIncomplete) {
		t.Fatal(err)
	}
}

func TestStreamConsumerGoesAway(t *testing.T) {
	r, w, err := os.Pipe()
	must(t, err)
	must(t, r.Close())
	s := released(w, 1000)
	if _, err := s.WriteAt(make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	<-s.Moved()
	_, late := s.WriteAt(make([]byte, 10), 10)
	for _, err := range []error{s.Err(), late, s.Finish(t.Context(), 20)} {
		var e *Error
		if !errors.Is(err, syscall.EPIPE) || !errors.As(err, &e) {
			t.Errorf("%v, want a broken pipe", err)
		}
	}
	must(t, s.Close())
	must(t, w.Close())
}

// A writer that breaks the rule of io.Writer must not lose bytes unnoticed.
type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestStreamShortWrite(t *testing.T) {
	s := released(short{}, 10)
	if _, err := s.WriteAt(make([]byte, 5), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), 5); !errors.Is(err, io.ErrShortWrite) {
		t.Fatal(err)
	}
}

func TestStreamInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{let: make(chan struct{})}
		s := released(g, 10)
		if _, err := s.WriteAt(make([]byte, 5), 0); err != nil {
			t.Fatal(err)
		}
		stop := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if err := s.Finish(ctx, 5); !errors.Is(err, stop) {
			t.Fatal(err)
		}
		must(t, s.Close())
		close(g.let)
		synctest.Wait()
		if _, err := s.WriteAt(make([]byte, 1), 5); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
		idle := released(g, 10)
		must(t, idle.Close())
		if err := idle.Finish(t.Context(), 0); !errors.Is(err, ErrClosed) {
			t.Fatal(err)
		}
	})
}

func TestStreamAllocatesNothing(t *testing.T) {
	const block = 4 << 10
	s := released(io.Discard, 64*block)
	p, off := make([]byte, block), int64(0)
	if n := testing.AllocsPerRun(500, func() {
		for s.Drained()+64*block < off+2*block {
			<-s.Moved()
		}
		for _, at := range []int64{off + block, off} { // out of order
			if _, err := s.WriteAt(p, at); err != nil {
				t.Fatal(err)
			}
		}
		off += 2 * block
	}); n != 0 {
		t.Fatalf("%v allocations per pair of blocks", n)
	}
	must(t, s.Finish(t.Context(), off))
}

// The list of ranges against a model that marks every byte.
func FuzzStreamRanges(f *testing.F) {
	f.Add([]byte{0, 10, 20, 5, 10, 10, 5, 30})
	f.Add([]byte{63, 1, 0, 64, 1, 1, 3, 1, 5, 1, 0, 63})
	f.Fuzz(func(t *testing.T, steps []byte) {
		const window = 64
		var out bytes.Buffer
		s := released(&out, window)
		b := testbody.Body{Size: 1 << 16}
		marks := make([]bool, b.Size+1)
		size := int64(0) // without a gap from 0 on
		for ; len(steps) >= 2; steps = steps[2:] {
			base := s.Drained()
			off := base + int64(steps[0])%(window+8) - 4
			p := make([]byte, steps[1]%70)
			if off >= 0 {
				_, _ = b.ReadAt(p, off) // zeros behind the end are refused or never reached
			}
			if off+int64(len(p)) > b.Size {
				break
			}
			_, err := s.WriteAt(p, off)
			if off >= 0 && off+int64(len(p)) <= base+window && err != nil {
				t.Fatal(err)
			}
			if err == nil {
				for i := range p {
					marks[off+int64(i)] = true
				}
			}
			for marks[size] {
				size++
			}
			for s.Drained() < size {
				<-s.Moved()
			}
		}
		complete := true
		for _, m := range marks[size:] {
			complete = complete && !m
		}
		if err := s.Finish(t.Context(), size); (err == nil) != complete {
			t.Fatalf("%d bytes, complete: %v: %v", size, complete, err)
		}
		if out.String() != bodyString(t, b)[:size] {
			t.Fatal("wrong bytes")
		}
	})
}

func BenchmarkStreamWriteAt(b *testing.B) {
	const block, window = 256 << 10, 16 << 20
	s := released(io.Discard, window)
	p, off := make([]byte, block), int64(0)
	b.SetBytes(block)
	for b.Loop() {
		for s.Drained()+window < off+block {
			<-s.Moved()
		}
		if _, err := s.WriteAt(p, off); err != nil {
			b.Fatal(err)
		}
		off += block
	}
	must(b, s.Finish(b.Context(), off))
}

// released is a Stream that hands everything on as it comes.
func released(w io.Writer, window int64) *Stream {
	s := NewStream(w, window)
	s.Release(math.MaxInt64)
	return s
}

// TestStreamHandsOnWhatIsReleased and no byte more; what was not released can be forgotten and
// written anew, and what was handed on a moment ago can still be read.
func TestStreamHandsOnWhatIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := NewStream(&out, 100)
		must(t, errOf(s.WriteAt([]byte("abcdefgh"), 0)))
		synctest.Wait()
		if out.Len() != 0 {
			t.Fatalf("%q was handed on unreleased", out.String())
		}
		s.Release(3)
		synctest.Wait()
		if out.String() != "abc" {
			t.Fatalf("%q was handed on, 3 bytes were released", out.String())
		}
		if end := s.Forget(2); end != 3 {
			t.Errorf("forgot what was released, from %d on", end)
		}
		must(t, errOf(s.WriteAt([]byte("de"), 3)))
		must(t, errOf(s.WriteAt([]byte("XYZ"), 5)))
		var p [7]byte
		if _, err := s.ReadAt(p[:], 1); err != nil || string(p[:]) != "bcdeXYZ" {
			t.Errorf("read %q, %v", p[:], err)
		}
		if _, err := s.ReadAt(p[:], 2); !errors.Is(err, ErrOutside) {
			t.Errorf("bytes that were never written were read: %v", err)
		}
		must(t, s.Finish(t.Context(), 8))
		if out.String() != "abcdeXYZ" {
			t.Errorf("%q", out.String())
		}
	})
}

func errOf(_ int, err error) error { return err }

// TestStreamReplacesWhatIsNotReleased: bytes that turned out to be of another object are
// written again; what the consumer may have got stays.
func TestStreamReplacesWhatIsNotReleased(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out, 100)
	write := func(text string, off int64) {
		t.Helper()
		if _, err := s.WriteAt([]byte(text), off); err != nil {
			t.Fatal(err)
		}
	}
	write("aaaa", 0)
	write("wrong", 8)
	write("BBBBBBBB", 4) // over a part of it
	s.Release(6)
	write("xxxxxxCCCC", 0) // 0 to 6 may be with the consumer
	if err := s.Finish(t.Context(), 13); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "aaaaBBCCCCBBg" {
		t.Errorf("%q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
