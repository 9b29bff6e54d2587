package engine

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// sink is where a download's bytes go: a file, or a stream in order.
type sink interface {
	// resume gives what is there already.
	resume() (store.Identity, []scheduler.Range, bool)
	// begin tells what the object is, before its first byte.
	begin(id store.Identity) error
	// restart forgets what is there; begin follows.
	restart() error
	io.WriterAt
	// room waits until the bytes up to end may be written.
	room(ctx context.Context, end int64) error
	// window bounds how far ahead of drained bytes may be written; 0: not.
	window() int64
	drained() int64
	moved() <-chan struct{} // nil where window is 0
	// checkpoint records what is there.
	checkpoint(done []scheduler.Range) error
	// suspend ends an unfinished download, to be continued by another run.
	suspend(done []scheduler.Range) error
	// readerAt reads what was written, for a checksum; nil where that cannot be.
	readerAt() io.ReaderAt
	// reject ends a download whose bytes are wrong.
	reject() error
	// commit ends a complete one and returns its name.
	commit(ctx context.Context, size int64) (string, error)
	// close ends it as it stands, unless it was ended before.
	close() error
}

type fileSink struct{ *store.File }

func (f fileSink) resume() (store.Identity, []scheduler.Range, bool) { return f.Resume() }
func (f fileSink) begin(id store.Identity) error                     { return f.Begin(id) }
func (f fileSink) restart() error                                    { return f.Restart() }
func (fileSink) room(context.Context, int64) error                   { return nil }
func (fileSink) window() int64                                       { return 0 }
func (fileSink) drained() int64                                      { return 0 }
func (fileSink) moved() <-chan struct{}                              { return nil }
func (f fileSink) checkpoint(done []scheduler.Range) error           { return f.Checkpoint(done) }
func (f fileSink) suspend(done []scheduler.Range) error              { return f.Suspend(done) }
func (f fileSink) readerAt() io.ReaderAt                             { return f }
func (f fileSink) reject() error                                     { return f.Reject() }
func (f fileSink) close() error                                      { return f.Close() }

func (f fileSink) commit(_ context.Context, size int64) (string, error) {
	return f.Commit(store.CommitOptions{Size: size})
}

// streamWindow is how many bytes may wait for the consumer of a stream: about a
// second at 130 Mbit/s, so that two links with different delays can both work.
const streamWindow = 16 << 20

// errOtherObject says that a stream cannot start over.
var errOtherObject = errors.New("the object changed, and its first bytes have been handed on")

type streamSink struct {
	*store.Stream
	name    string
	touched atomic.Bool // bytes were written, and may have been handed on
}

func newStreamSink(w io.Writer, name string) *streamSink {
	return &streamSink{Stream: store.NewStream(w, streamWindow), name: name}
}

func (s *streamSink) WriteAt(p []byte, off int64) (int, error) {
	s.touched.Store(true)
	return s.Stream.WriteAt(p, off)
}

func (*streamSink) resume() (id store.Identity, done []scheduler.Range, ok bool) {
	return id, nil, false
}
func (*streamSink) begin(store.Identity) error         { return nil }
func (*streamSink) window() int64                      { return streamWindow }
func (s *streamSink) drained() int64                   { return s.Drained() }
func (s *streamSink) moved() <-chan struct{}           { return s.Moved() }
func (*streamSink) checkpoint([]scheduler.Range) error { return nil }
func (s *streamSink) suspend([]scheduler.Range) error  { return s.Close() }
func (*streamSink) readerAt() io.ReaderAt              { return nil }
func (s *streamSink) reject() error                    { return s.Close() }
func (s *streamSink) close() error                     { return s.Close() }

func (s *streamSink) restart() error {
	if s.touched.Load() {
		return errOtherObject
	}
	return nil
}

func (s *streamSink) room(ctx context.Context, end int64) error {
	for s.Drained()+streamWindow < end {
		if err := s.Err(); err != nil {
			return err
		}
		select {
		case <-s.Moved():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *streamSink) commit(ctx context.Context, size int64) (string, error) {
	return s.name, errors.Join(s.Finish(ctx, size), s.Close())
}
