package engine

import (
	"context"
	"io"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// sink is where a download's bytes go: a file, or a stream in order.
type sink interface {
	// resume gives what is there already.
	resume() (identity.Identity, []scheduler.Range, bool)
	// begin tells what the object is, before its first byte.
	begin(id identity.Identity) error
	// restart forgets what is there; begin follows.
	restart() error
	io.WriterAt
	// ReadAt reads what was written. A stream has at least the last accept.Overlap bytes of what
	// was handed on, and all that was not.
	io.ReaderAt
	// room waits until the bytes up to end may be written.
	room(ctx context.Context, end int64) error
	// window bounds how far ahead of drained bytes may be written; 0: not.
	window() int64
	drained() int64
	moved() <-chan struct{} // tells that drained or failed has changed; nil where window is 0
	// failed is why nobody takes the bytes any more, if that is so.
	failed() error
	// checkpoint records what is there.
	checkpoint(done []scheduler.Range) error
	// suspend ends an unfinished download, to be continued by another run.
	suspend(done []scheduler.Range) error
	// readerAt reads what was written, for a checksum; nil where that cannot be.
	readerAt() io.ReaderAt
	// reject ends a download whose bytes are wrong.
	reject() error
	// commit ends a complete one and returns its name.
	commit(ctx context.Context, o store.CommitOptions) (string, error)
	// close ends it as it stands, unless it was ended before.
	close() error
}

type fileSink struct{ *store.File }

func (f fileSink) resume() (identity.Identity, []scheduler.Range, bool) { return f.Resume() }
func (f fileSink) begin(id identity.Identity) error                     { return f.Begin(id) }
func (f fileSink) restart() error                                       { return f.Restart() }
func (fileSink) room(context.Context, int64) error                      { return nil }
func (fileSink) window() int64                                          { return 0 }
func (fileSink) drained() int64                                         { return 0 }
func (fileSink) moved() <-chan struct{}                                 { return nil }
func (fileSink) failed() error                                          { return nil }
func (f fileSink) checkpoint(done []scheduler.Range) error              { return f.Checkpoint(done) }
func (f fileSink) suspend(done []scheduler.Range) error                 { return f.Suspend(done) }
func (f fileSink) readerAt() io.ReaderAt                                { return f }
func (f fileSink) reject() error                                        { return f.Reject() }
func (f fileSink) close() error                                         { return f.Close() }

func (f fileSink) commit(_ context.Context, o store.CommitOptions) (string, error) {
	return f.Commit(o)
}
