package store

import (
	"hash/maphash"
	"io/fs"
	"os"
	"sync"
)

// Given are the files that one run has given names to, or found to be there already, and
// the URLs that they are of. By size and time of change alone the object of one URL would be
// taken for that of another that is called the same, and that one would never be fetched.
type Given struct {
	seed maphash.Seed
	mu   sync.Mutex
	of   map[uint64]uint64 // hashes: of files, and of their URLs
}

// NewGiven is of a run that has not begun.
func NewGiven() *Given {
	return &Given{seed: maphash.MakeSeed(), of: make(map[uint64]uint64)}
}

// take makes the file called path, which fi is of, that of a URL; ok is false if it is
// another's. Without g any may be.
func (g *Given) take(path string, fi fs.FileInfo, from origin) (ok bool) {
	if g == nil {
		return true
	}
	file, url := maphash.Comparable(g.seed, keyOf(path, fi)), maphash.String(g.seed, from.sum)
	g.mu.Lock()
	defer g.mu.Unlock()
	of, taken := g.of[file]
	if !taken {
		g.of[file] = url
	}
	return !taken || of == url
}

// anothers says whether the file called path, which fi is of, is that of another URL.
func (g *Given) anothers(path string, fi fs.FileInfo, from origin) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	of, taken := g.of[maphash.Comparable(g.seed, keyOf(path, fi))]
	return taken && of != maphash.String(g.seed, from.sum)
}

// give notes that path is the name of a URL's object now.
func (g *Given) give(path string, from origin) {
	if g == nil {
		return
	}
	if fi, err := os.Lstat(path); err == nil {
		g.take(path, fi, from)
	}
}
