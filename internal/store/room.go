package store

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mlget/mlget/internal/units"
)

// NoRoom says that a file system has too little room for the rest of an object. It leads
// to ENOSPC.
type NoRoom struct {
	Needed int64 // bytes that the file is still to take
	Free   int64 // bytes that are free for it, never more than Needed
}

func (e *NoRoom) Error() string {
	return fmt.Sprintf("%s more must be free: it takes %s, and there are %s: %v",
		units.Bytes(e.Needed-e.Free), units.Bytes(e.Needed), units.Bytes(e.Free), syscall.ENOSPC)
}

// Unwrap gives the system's error number.
func (*NoRoom) Unwrap() error { return syscall.ENOSPC }

// checkRoom fails, with a *NoRoom, if there is too little room for file to have size bytes
// beside what the run's other files still need. Its bytes on disk count. A file system that
// cannot report free space is not asked.
func (r *Run) checkRoom(file *os.File, path string, size int64) error {
	if r == nil {
		return roomFor(file, path, size, 0)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := roomFor(file, path, size, r.stillToTake()); err != nil {
		return err
	}
	r.sizes[file] = size
	return nil
}

// stillToTake is how many bytes the files that were begun lack on disk; mu is held. What
// was reserved for a file is on disk in this sense.
func (r *Run) stillToTake() (bytes int64) {
	for file, size := range r.sizes {
		fi, err := file.Stat()
		if err != nil { // it was closed
			delete(r.sizes, file)
			continue
		}
		bytes += max(0, size-allocated(fi))
	}
	return bytes
}

// roomFor is checkRoom where others are still to take that many bytes.
func roomFor(file *os.File, path string, size, others int64) error {
	free, known := freeBytes(file, filepath.Dir(path))
	if !known {
		return nil
	}
	fi, err := file.Stat()
	if err != nil {
		return err
	}
	return lessThan(size-allocated(fi), free-others)
}

// lessThan fails if fewer than needed bytes are free.
func lessThan(needed, free int64) error {
	if free = max(0, free); needed <= free {
		return nil
	}
	return &NoRoom{Needed: needed, Free: free}
}

// blocks is how many bytes so many blocks hold. File systems without a bound tell absurd
// numbers.
func blocks(n, size int64) int64 {
	if n <= 0 || size <= 0 {
		return 0
	}
	if n > math.MaxInt64/size {
		return math.MaxInt64
	}
	return n * size
}
