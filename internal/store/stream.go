package store

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"sync"

	"github.com/mlget/mlget/pkg/scheduler"
)

// maxStreamWrite bounds the bytes handed to the consumer at once, so that room
// in the window is given back steadily.
const maxStreamWrite = 256 << 10

// Stream hands the bytes of an object, which arrive in any order, to a writer
// strictly in order. It holds at most window bytes that were not handed on: those from Drained
// to Drained+window, the only ones that may be written. A program that passes
// standard output must ignore SIGPIPE to see EPIPE.
type Stream struct {
	w     io.Writer
	name  string
	moved chan struct{}
	ended chan struct{} // closed when the goroutine has returned

	window int64
	first  int64 // the offset of the first byte that is handed on

	mu      sync.Mutex
	wake    sync.Cond
	ring    []byte // the byte at offset o stands at o % len(ring): the window, and history before it
	drained int64
	release int64             // the consumer may have the bytes before that
	have    []scheduler.Range // sorted, disjoint, not touching, from drained on
	finish  bool              // nothing more will be written
	closed  bool
	err     error
}

// history is how many bytes that were handed on can still be read.
const history = 64 << 10

// NewStream starts a Stream to w with a window of that many bytes, which must
// be positive. Memory is taken up as the window is used. Nothing is handed on before its
// Release.
func NewStream(w io.Writer, window int64) *Stream { return NewStreamFrom(w, 0, window) }

// NewStreamFrom starts a Stream of the bytes from first on: those before count as handed on.
func NewStreamFrom(w io.Writer, first, window int64) *Stream {
	s := &Stream{
		w: w, name: "the output", first: first, drained: first, release: first,
		moved: make(chan struct{}, 1), ended: make(chan struct{}),
		window: window, ring: make([]byte, window+history), have: make([]scheduler.Range, 0, 64),
	}
	if f, ok := w.(*os.File); ok {
		s.name = f.Name()
	}
	s.wake.L = &s.mu
	go s.run()
	return s
}

// WriteAt copies p, the bytes from off on. It never waits for the consumer: bytes beyond
// Drained+window are refused with ErrOutside. Bytes that were written before are replaced, as
// in a file, unless they were released. After the consumer has failed, its error is returned.
func (s *Stream) WriteAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return 0, s.err
	case s.finish || s.closed:
		return 0, fail("write", s.name, ErrClosed)
	}
	limit := s.drained + s.window
	if off < 0 || off > limit || int64(len(p)) > limit-off {
		return 0, fail("write", s.name, fmt.Errorf("%w: %d at %d, window [%d,%d)", ErrOutside, len(p), off, s.drained, limit))
	}
	r := scheduler.Range{Off: max(off, s.drained), End: off + int64(len(p))}
	if !r.Empty() {
		s.fill(p[r.Off-off:], r)
	}
	return len(p), nil
}

// fill copies p, the bytes of r, except those that are released already, and notes that r is
// there.
func (s *Stream) fill(p []byte, r scheduler.Range) {
	part := func(from, to int64) {
		if from < to {
			s.copy(p[from-r.Off:to-r.Off], from)
		}
	}
	i := 0 // the first range that r touches
	for i < len(s.have) && s.have[i].End < r.Off {
		i++
	}
	fixed := min(r.End, max(r.Off, s.release)) // before it only what is missing is new
	at, j, all := r.Off, i, r
	for ; j < len(s.have) && s.have[j].Off <= r.End; j++ {
		h := s.have[j]
		part(at, min(h.Off, fixed))
		at = h.End
		all = scheduler.Range{Off: min(all.Off, h.Off), End: max(all.End, h.End)}
	}
	part(at, fixed)
	part(fixed, r.End)
	if i == j {
		s.have = append(s.have, scheduler.Range{})
		copy(s.have[i+1:], s.have[i:])
	} else {
		s.have = append(s.have[:i+1], s.have[j:]...)
	}
	s.have[i] = all
	if all.Off == s.drained {
		s.wake.Signal()
	}
}

// Release lets the consumer have the bytes before end, as they come.
func (s *Stream) Release(end int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end > s.release {
		s.release = end
		s.wake.Signal()
	}
}

// Forget forgets the written bytes from end on, except released ones, and returns the offset
// from which on it did.
func (s *Stream) Forget(end int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = max(end, s.release)
	kept := s.have[:0]
	for _, r := range s.have {
		if r.End = min(r.End, end); !r.Empty() {
			kept = append(kept, r)
		}
	}
	s.have = kept
	return end
}

// Restart forgets all that has been written, and says whether it could: not after a Release.
func (s *Stream) Restart() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.release > s.first {
		return false
	}
	s.have = s.have[:0]
	return true
}

// ReadAt reads bytes that have been written, as far as they have not been handed on for
// long; others are ErrOutside.
func (s *Stream) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := off + int64(len(p))
	there := end <= s.drained
	for _, r := range s.have {
		there = there || end <= r.End && (off >= r.Off || r.Off == s.drained)
	}
	if off < max(s.first, s.drained-history) || !there {
		return 0, fail("read", s.name, ErrOutside)
	}
	at := int(off % int64(len(s.ring)))
	n := copy(p, s.ring[at:])
	copy(p[n:], s.ring)
	return len(p), nil
}

func (s *Stream) copy(p []byte, off int64) {
	at := int(off % int64(len(s.ring)))
	n := copy(s.ring[at:], p)
	copy(s.ring, p[n:])
}

// head is the part of the ring that can be handed on now, or empty.
func (s *Stream) head() []byte {
	if len(s.have) == 0 || s.have[0].Off != s.drained || s.release <= s.drained {
		return nil
	}
	at, n := s.drained%int64(len(s.ring)), min(s.have[0].End, s.release)-s.drained
	return s.ring[at:min(at+n, int64(len(s.ring)), at+maxStreamWrite)]
}

// run hands on the head until there is none and none will come. WriteAt does
// not touch the head: its bytes are there, and the next ones for their place
// lie outside the window.
func (s *Stream) run() {
	defer close(s.ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		head := s.head()
		for len(head) == 0 && !s.finish && !s.closed {
			s.wake.Wait()
			head = s.head()
		}
		if len(head) == 0 || s.closed {
			return
		}
		s.mu.Unlock()
		n, err := s.w.Write(head)
		if err == nil && n < len(head) {
			err = io.ErrShortWrite
		}
		s.mu.Lock()
		s.advance(int64(n))
		if err != nil {
			s.err = fail("write", s.name, err)
		}
		select {
		case s.moved <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *Stream) advance(n int64) {
	s.drained += n
	s.have[0].Off += n
	if s.have[0].Empty() {
		s.have = append(s.have[:0], s.have[1:]...)
	}
}

// Drained is the offset up to which the consumer has taken the bytes.
func (s *Stream) Drained() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drained
}

// Err is the consumer's error, if it has failed. errors.Is(err, syscall.EPIPE)
// holds if it went away.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Moved receives a value after Drained has risen or Err has come to be. Several
// changes may come as one.
func (s *Stream) Moved() <-chan struct{} { return s.moved }

// Finish says that every byte was written, size of them, and waits until the
// consumer has taken the last. It fails with the consumer's error, with
// ErrIncomplete if bytes are missing, or with ctx's cause if that ends first;
// then Close is still needed. It does not close the writer.
func (s *Stream) Finish(ctx context.Context, size int64) error {
	s.mu.Lock()
	s.finish, s.release = true, math.MaxInt64
	s.wake.Signal()
	s.mu.Unlock()
	select {
	case <-s.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.closed {
		return fail("write", s.name, ErrClosed)
	}
	if s.drained != size || len(s.have) > 0 {
		return fail("write", s.name, fmt.Errorf("%w: %d of %d were handed on", ErrIncomplete, s.drained, size))
	}
	return nil
}

// Close gives up what was not handed on. It does not wait for a consumer that
// takes nothing: the goroutine ends when the writer returns.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.wake.Signal()
	return nil
}
