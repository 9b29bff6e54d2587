package adversary

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Versions of a story that are none of the file's.
const (
	noVersion  = -1 // the answer told none
	portalPage = -2
)

// Told is one answer, as the log keeps it.
type Told struct {
	At         time.Duration // since the run began
	Run        int
	Link, Edge int
	File       int // -1: none
	N          int // how many the edge had answered in this run for this file over this link
	Request    string
	Kind       string
	Shown      Shown
	Tag        string

	// The story.
	Version int
	Size    int64 // -1: not told
	Lie     bool
	Unsized bool // nothing but the body's end tells the size

	Behind time.Duration // none told: for so long an idle connection was in the way of a request

	Off  int64        // of the first byte of the body
	Sent atomic.Int64 // bytes of the body that the link took
}

// bytes are those of the body from its at-th byte on. Behind the object's end there is
// something else.
func (t *Told) bytes(p []byte, at int64) { bytesAt(p, max(0, t.File), t.Version, t.Off+at) }

func (t *Told) sent(n int64) { t.Sent.Add(n) }

// String tells the answer in a line.
func (t *Told) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %d %10.6fs link%d edge%d f%d #%d", t.Run, t.At.Seconds(), t.Link, t.Edge, t.File, t.N)
	if t.Request != "" {
		fmt.Fprintf(&b, " [%s]", t.Request)
	}
	fmt.Fprintf(&b, ": %s", t.Kind)
	if t.Version >= 0 {
		fmt.Fprintf(&b, " v%d", t.Version)
	}
	if t.Tag != "" {
		fmt.Fprintf(&b, " %s", t.Tag)
	}
	if t.Shown&ShowDate != 0 {
		b.WriteString(" date")
	}
	if t.Lie {
		b.WriteString(" LIE")
	}
	fmt.Fprintf(&b, ", sent %d", t.Sent.Load())
	return b.String()
}
