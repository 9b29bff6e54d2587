package engine

import (
	"errors"

	"github.com/mlget/mlget/internal/engine/accept"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Where nothing else tells whether the object ends where the file does, is still the same, or what
// its server calls it, the last byte of the file is asked for again. It is compared and not
// written: no bytes of two objects meet, and what another tool has left stays as it is.

var (
	// errRecheckLast says that a server has nothing behind the bytes that are there, and does not
	// say that these are all.
	errRecheckLast = errors.New("nothing tells whether it is complete")
	// errLastDiffers says that the last byte which was there is another one in an answer.
	errLastDiffers = errors.New("its last byte differs")
)

// canRecheckLast says whether the last byte can be asked for again, and has not been.
func (d *download) canRecheckLast() bool {
	return d.to.stream() == nil && d.earlier.last.Empty()
}

// recheckLast has the last byte of done asked for again, and returns done without it.
func (d *download) recheckLast(done []scheduler.Range) []scheduler.Range {
	end := done[len(done)-1].End
	d.earlier.last = scheduler.Range{Off: end - 1, End: end}
	return accept.Without(done, d.earlier.last)
}

// place is where the bytes of a request go.
func (d *download) place() sink {
	if d.earlier.last.Empty() {
		return d.to
	}
	return comparingSink{sink: d.to, kept: []scheduler.Range{d.earlier.last}, differs: errLastDiffers}
}

// isWhole says whether done is all of an object of size bytes.
func isWhole(done []scheduler.Range, size int64) bool {
	return len(done) == 1 && done[0] == scheduler.Range{End: size}
}
