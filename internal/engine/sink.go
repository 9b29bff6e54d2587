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
	// Resume gives what is there already.
	Resume() (identity.Identity, []scheduler.Range, bool)
	// Begin tells what the object is, before its first byte.
	Begin(id identity.Identity) error
	// Restart forgets what is there; Begin follows.
	Restart() error
	io.WriterAt
	// ReadAt reads what was written. A stream has at least the last accept.Overlap bytes of what
	// was handed on, and all that was not.
	io.ReaderAt
	// Checkpoint records what is there.
	Checkpoint(done []scheduler.Range) error
	// Suspend ends an unfinished download, to be continued by another run.
	Suspend(done []scheduler.Range) error
	// Reject ends a download whose bytes are wrong.
	Reject() error
	// Commit ends a complete one and returns its name.
	Commit(ctx context.Context, o store.CommitOptions) (string, error)
	// Close ends it as it stands, unless it was ended before.
	Close() error
	// stream is how its consumer takes the bytes; nil: it is a file.
	stream() *streamSink
}

type fileSink struct{ *store.File }

func (f fileSink) Commit(_ context.Context, o store.CommitOptions) (string, error) {
	return f.File.Commit(o)
}

func (fileSink) stream() *streamSink { return nil }
