package scheduler

import "slices"

// unsized stands for the size of an object while the server has not told it.
const unsized = int64(1) << 62

// ledger knows which bytes of the object nobody has and nobody is fetching.
// The free ranges are sorted, disjoint and never touch each other, so that the
// chunks in flight, the free ranges and the bytes received tile the object.
type ledger struct {
	size int64
	free []Range
}

func newLedger(size int64, have []Range) ledger {
	if size < 0 {
		size = unsized
	}
	l := ledger{size: size, free: make([]Range, 0, 64)}
	at := int64(0)
	for _, h := range have {
		if h.Off > at {
			l.free = append(l.free, Range{at, min(h.Off, size)})
		}
		at = max(at, h.End)
	}
	if at < size {
		l.free = append(l.free, Range{at, size})
	}
	return l
}

// bytes is how many bytes are free.
func (l *ledger) bytes() (n int64) {
	for _, r := range l.free {
		n += r.Len()
	}
	return n
}

// take removes and returns the first n free bytes that lie together, or as many
// as lie there, none of them at limit or beyond.
func (l *ledger) take(n, limit int64) Range {
	if len(l.free) == 0 || n <= 0 {
		return Range{}
	}
	first := &l.free[0]
	r := Range{first.Off, min(first.End, limit)}
	if r.Empty() {
		return Range{}
	}
	r.End = min(r.End, r.Off+n)
	first.Off = r.End
	if first.Empty() {
		l.free = slices.Delete(l.free, 0, 1)
	}
	return r
}

// takeLast removes and returns the last n free bytes before limit that lie together, or as many
// as lie there.
func (l *ledger) takeLast(n, limit int64) Range {
	for i := len(l.free) - 1; i >= 0 && n > 0; i-- {
		last := l.free[i]
		if last.Off >= limit {
			continue
		}
		r := Range{max(last.Off, min(last.End, limit)-n), min(last.End, limit)}
		l.free = slices.Delete(l.free, i, i+1)
		l.give(Range{last.Off, r.Off})
		l.give(Range{r.End, last.End})
		return r
	}
	return Range{}
}

// give makes r free again. No byte of r may be free already.
func (l *ledger) give(r Range) {
	r.End = min(r.End, l.size)
	if r.Empty() {
		return
	}
	i := 0
	for i < len(l.free) && l.free[i].Off < r.Off {
		i++
	}
	joinsLeft := i > 0 && l.free[i-1].End == r.Off
	joinsRight := i < len(l.free) && l.free[i].Off == r.End
	switch {
	case joinsLeft && joinsRight:
		l.free[i-1].End = l.free[i].End
		l.free = slices.Delete(l.free, i, i+1)
	case joinsLeft:
		l.free[i-1].End = r.End
	case joinsRight:
		l.free[i].Off = r.Off
	default:
		l.free = slices.Insert(l.free, i, r)
	}
}

// resize sets the size, once it is known, and forgets what lies beyond it.
func (l *ledger) resize(size int64) {
	l.size = size
	for i, r := range l.free {
		if r.End <= size {
			continue
		}
		if r.Off < size {
			l.free[i].End = size
			i++
		}
		l.free = l.free[:i]
		return
	}
}
