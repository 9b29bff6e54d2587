package store

import (
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// slowWrite is how long a write takes at least that waited for the disk for as long as
	// matters: copying half a megabyte takes a tenth of it on a slow core.
	slowWrite = 5 * time.Millisecond
	// wary is for how long after such a write the runtime handles each one.
	wary = time.Second
)

// brief writes to a file by system calls that bypass Go's runtime, where a write takes no
// longer than copying: into the cache of a local disk. The runtime answers its first call after
// a pause by waking its monitor, which costs more context switches than the rest of a block's
// work. A bypassing call keeps its processor, so a disk that makes writers wait is left to
// ordinary calls for a while.
type brief struct {
	raw   syscall.RawConn
	begun time.Time
	until atomic.Int64              // ns since begun, until when the runtime handles writes; 0: it need not
	spare atomic.Pointer[briefCall] // for the next write, as making one allocates
}

// briefCall is a write.
type briefCall struct {
	p     []byte
	off   int64
	n     int
	errno syscall.Errno
	slept bool             // or another thread went on with it
	do    func(fd uintptr) // write, kept: making it allocates
}

// can says whether the next write may be made without telling.
func (b *brief) can() bool {
	if b == nil {
		return false
	}
	until := b.until.Load()
	return until == 0 || int64(time.Since(b.begun)) >= until
}

// took notes that a write which began so long after b did has slept, or has had to wait for a
// processor at most.
func (b *brief) took(began time.Duration, slept bool) {
	switch now := time.Since(b.begun); {
	case slept && now-began >= slowWrite:
		b.until.Store(int64(now + wary))
	case b.until.Load() != 0:
		b.until.Store(0)
	}
}

// writeAt writes what it can of p at off without waiting. A write of the rest returns the
// error, if there is one.
func (b *brief) writeAt(p []byte, off int64) (n int) {
	for n < len(p) && b.can() {
		k, ok := b.once(p[n:], off+int64(n))
		if !ok {
			break
		}
		n += k
	}
	return n
}

// once makes one system call, and says whether it wrote.
func (b *brief) once(p []byte, off int64) (n int, ok bool) {
	c := b.spare.Swap(nil)
	if c == nil {
		c = new(briefCall)
		c.do = c.write
	}
	c.p, c.off = p, off
	began := time.Since(b.begun)
	err := b.raw.Control(c.do)
	b.took(began, c.slept)
	n, ok = c.n, err == nil && c.errno == 0 && c.n > 0
	c.p = nil
	b.spare.Store(c)
	return n, ok
}
