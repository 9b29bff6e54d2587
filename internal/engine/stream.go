package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// streamWindow is how many bytes may wait for the consumer of a stream: about a
// second at 130 Mbit/s, so that two links with different delays can both work.
const streamWindow = 16 << 20

// errOtherObject says that a stream cannot start over.
var errOtherObject = fmt.Errorf("%w, and its first bytes have been handed on", ErrChanged)

type streamSink struct {
	*store.Stream
	name string
	part *Part // of the object, that it is; nil: it is the whole
}

func newStreamSink(w io.Writer, name string) *streamSink {
	return &streamSink{Stream: store.NewStream(w, streamWindow), name: name}
}

// Part is a part of an object that an answer has described: the bytes of Range of the object
// of which Object tells the size and the validators. Answers that no validator proves to be of
// that object are refused. Its size is not doubted: the consumer has been told it.
type Part struct {
	Object identity.Claim
	Range  scheduler.Range
}

// outside is what the object has beside the part.
func (p *Part) outside() (all []scheduler.Range) {
	for _, r := range []scheduler.Range{{End: p.Range.Off}, {Off: p.Range.End, End: p.Object.Size}} {
		if !r.Empty() {
			all = append(all, r)
		}
	}
	return all
}

func newPartSink(w io.Writer, p *Part) *streamSink {
	return &streamSink{Stream: store.NewStreamFrom(w, p.Range.Off, streamWindow), name: "-", part: p}
}

func (s *streamSink) stream() *streamSink { return s }

func (*streamSink) Resume() (id identity.Identity, done []scheduler.Range, ok bool) {
	return id, nil, false
}
func (*streamSink) Begin(identity.Identity) error      { return nil }
func (*streamSink) Checkpoint([]scheduler.Range) error { return nil }
func (s *streamSink) Suspend([]scheduler.Range) error  { return s.Close() }
func (s *streamSink) Reject() error                    { return s.Close() }

// window bounds how far ahead of the consumer bytes may be written; 0: nothing does.
func (s *streamSink) window() int64 {
	if s == nil {
		return 0
	}
	return streamWindow
}

// moved tells that the consumer has taken bytes, or takes no more; nil: there is none.
func (s *streamSink) moved() <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.Moved()
}

// failed is why nobody takes the bytes any more, if that is so.
func (s *streamSink) failed() error {
	if s == nil {
		return nil
	}
	return s.Err()
}

// Restart works as long as the consumer was to have none of what was written, unless the object is
// one that has been described.
func (s *streamSink) Restart() error {
	if s.part != nil || !s.Stream.Restart() {
		return errOtherObject
	}
	return nil
}

// room waits until the bytes up to end may be written.
func (s *streamSink) room(ctx context.Context, end int64) error {
	for s.Drained()+streamWindow < end {
		if err := s.Err(); err != nil {
			return err
		}
		select {
		case <-s.Moved():
		case <-ctx.Done():
			return &fetch.Error{Class: fetch.Canceled, Err: context.Cause(ctx)}
		}
	}
	return nil
}

func (s *streamSink) Commit(ctx context.Context, o store.CommitOptions) (string, error) {
	if s.part != nil {
		o.Size = s.part.Range.End
	}
	return s.name, errors.Join(s.Finish(ctx, o.Size), s.Close())
}
