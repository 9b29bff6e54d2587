package engine

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// errAskLast says that a server has nothing behind the bytes that are there, and does not
// say that these are all.
var errAskLast = errors.New("nothing tells whether it is complete")

// canAskLast says whether its last byte can be asked for again, and has not been.
func (d *download) canAskLast() bool {
	_, ok := d.to.(fileSink)
	return ok
}

// covers says whether done is all of an object of size bytes.
func covers(done []scheduler.Range, size int64) bool {
	return len(done) == 1 && done[0] == scheduler.Range{End: size}
}

// butLast is done without its last byte.
func butLast(done []scheduler.Range) []scheduler.Range {
	done = slices.Clone(done)
	last := &done[len(done)-1]
	if last.End--; last.Empty() {
		done = done[:len(done)-1]
	}
	return done
}

// lastAsked is a file whose last byte is asked for again: the answer tells how large the
// object is.
type lastAsked struct{ fileSink }

func (l lastAsked) resume() (identity.Identity, []scheduler.Range, bool) {
	id, done, ok := l.fileSink.resume()
	if !ok {
		return id, nil, false
	}
	done = butLast(done)
	return id, done, len(done) > 0
}

// WriteAt compares the byte, when the file turns out to be complete: that is not touched.
func (l lastAsked) WriteAt(p []byte, off int64) (int, error) {
	if !l.Whole() {
		return l.fileSink.WriteAt(p, off)
	}
	return l.compare(p, off, &store.Error{Op: "compare", Path: l.Name(), Err: store.ErrChanged})
}

// allThere is a file of which a run before has left every byte, and which was not given its
// name. Whether the object is still the same, and what its server calls it, a response has to
// say, so the last byte is asked for again. It is compared and not written, so that no bytes
// of two objects meet.
type allThere struct{ fileSink }

func (a allThere) WriteAt(p []byte, off int64) (int, error) {
	return a.compare(p, off, errStartOver)
}

// compare takes p for written at off if that is what the file holds; else it fails with
// differs.
func (f fileSink) compare(p []byte, off int64, differs error) (int, error) {
	there := make([]byte, len(p))
	if _, err := f.ReadAt(there, off); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if !bytes.Equal(there, p) {
		return 0, differs
	}
	return len(p), nil
}
