package store

import (
	"cmp"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Run is shared by the files of one run of many: their directories, and the claims on names.
// Its methods may be called by any goroutine. A nil *Run knows nothing.
type Run struct {
	dir      string
	android  bool // asked once: a name alone would ask several times for each file
	spares   bool // descriptors suffice for files that are made ahead
	seed     maphash.Seed
	finished finished

	mu   sync.Mutex
	base *directory            // dir, from the first file on; nil before
	subs map[string]*directory // those below it that are in use
	// of are hashes of the files that were given names, or found to be there already, and of
	// their URLs. By size and time of change alone the object of one URL would be taken for
	// that of another that is called the same, and that one would never be fetched.
	of map[uint64]uint64
	// sizes are those of the files that were begun and for which room was looked for; some
	// are closed.
	sizes map[*os.File]int64
}

// NewRun is of a run that saves its files in dir, or below it. Close must follow.
func NewRun(dir string) *Run {
	return &Run{dir: dir, android: onAndroid(), spares: mayHaveSpares(), seed: maphash.MakeSeed(), subs: make(map[string]*directory), of: make(map[uint64]uint64), sizes: make(map[*os.File]int64)}
}

// onAndroid is the function of that name, whose answer r knows.
func (r *Run) onAndroid() bool {
	if r == nil {
		return onAndroid()
	}
	return r.android
}

// fatRules says whether names must do for FAT.
func (r *Run) fatRules() bool { return runtime.GOOS == "windows" || r.onAndroid() }

// Close gives the directories up that no file is on its way to any more, and keeps what the
// next run of the job is to know.
func (r *Run) Close() {
	r.finished.close()
	r.mu.Lock()
	base := r.base
	r.base = nil
	r.mu.Unlock()
	if base != nil {
		base.release()
	}
}

// directory opens the directory sub, a clean path, below the run's, and makes what is not
// there. The run's own is opened once; release must follow.
func (r *Run) directory(sub string) (*directory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base == nil {
		if r.dir != "" {
			if err := makeDirectory(r.dir); err != nil {
				return nil, err
			}
		}
		base, err := openDirectory(cmp.Or(r.dir, "."))
		if err != nil {
			return nil, fail("open", r.dir, err)
		}
		base.run, base.refs, r.base = r, 1, base
	}
	d := r.base
	if sub != "" {
		if d = r.subs[sub]; d == nil {
			var err error
			if d, err = r.base.below(sub); err != nil {
				return nil, fail("create directory", filepath.Join(r.dir, sub), err)
			}
			d.run, r.subs[sub] = r, d
		}
	}
	d.refs++
	return d, nil
}

// opened is the run's directory; nil: no file has asked for it yet, or the run is over.
func (r *Run) opened() *directory {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.base
}

// forget drops a directory without users; mu is held.
func (r *Run) forget(d *directory) {
	for sub, of := range r.subs {
		if of == d {
			delete(r.subs, sub)
		}
	}
}

// take makes the file called path, which fi is of, that of a URL; ok is false if it is
// another's. Without r any may be.
func (r *Run) take(path string, fi fs.FileInfo, from origin) (ok bool) {
	if r == nil {
		return true
	}
	file, url := maphash.Comparable(r.seed, keyOf(path, fi)), maphash.String(r.seed, from.sum)
	r.mu.Lock()
	defer r.mu.Unlock()
	of, taken := r.of[file]
	if !taken {
		r.of[file] = url
	}
	return !taken || of == url
}

// anothers says whether the file called path, which fi is of, is that of another URL.
func (r *Run) anothers(path string, fi fs.FileInfo, from origin) bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of, taken := r.of[maphash.Comparable(r.seed, keyOf(path, fi))]
	return taken && of != maphash.String(r.seed, from.sum)
}
