package engine

import (
	"bytes"
	"errors"
	"io"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

var (
	// errRecheckLast says that a server has nothing behind the bytes that are there, and does not
	// say that these are all.
	errRecheckLast = errors.New("nothing tells whether it is complete")
	// errLastDiffers says that the last byte which was there is another one in an answer.
	errLastDiffers = errors.New("its last byte differs")
)

// canRecheckLast says whether its last byte can be asked for again, and has not been.
func (d *download) canRecheckLast() bool {
	_, ok := d.to.(fileSink)
	return ok
}

// isWhole says whether done is all of an object of size bytes.
func isWhole(done []scheduler.Range, size int64) bool {
	return len(done) == 1 && done[0] == scheduler.Range{End: size}
}

// withoutLastByte is done without its last byte.
func withoutLastByte(done []scheduler.Range) []scheduler.Range {
	end := done[len(done)-1].End
	return accept.Without(done, scheduler.Range{Off: end - 1, End: end})
}

// lastByteSink is a file whose last byte is asked for again, as nothing else tells whether the
// object ends there, is still the same, or what its server calls it. The byte is compared and
// not written: no bytes of two objects meet, and what another tool has left stays as it is.
type lastByteSink struct {
	sink
	file fileSink
	end  int64 // of what was there
}

func newLastByteSink(f fileSink, done []scheduler.Range) *lastByteSink {
	return &lastByteSink{sink: f, file: f, end: done[len(done)-1].End}
}

func (l *lastByteSink) Resume() (identity.Identity, []scheduler.Range, bool) {
	id, done, ok := l.file.Resume()
	if !ok {
		return id, nil, false
	}
	done = withoutLastByte(done)
	return id, done, len(done) > 0
}

func (l *lastByteSink) Restart() error {
	l.end = 0
	return l.file.Restart()
}

func (l *lastByteSink) GiveBack() error { return l.file.GiveBack() }

func (l *lastByteSink) WriteAt(p []byte, off int64) (int, error) {
	known := max(0, min(int64(len(p)), l.end-off))
	there := make([]byte, known)
	if _, err := l.file.ReadAt(there, off); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if !bytes.Equal(there, p[:known]) {
		return 0, errLastDiffers
	}
	if known == int64(len(p)) {
		return len(p), nil
	}
	n, err := l.file.WriteAt(p[known:], off+known)
	return int(known) + n, err
}
