package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// File is a download on its way to a name. See the package comment for the
// order of calls.
type File struct {
	path     string     // NAME
	dir      *directory // that NAME is in; nil when the File is closed
	from     origin
	first    string // the first name that was tried
	target   Target
	explicit bool
	mode     fs.FileMode // of the data; that of the file to be replaced, if any
	replaces bool        // a regular NAME was there that the user told to replace
	notice   string

	limit atomic.Int64 // WriteAt's end in bytes; 0 before Begin

	file  *os.File // set before the first WriteAt
	brief *brief   // of file, set by Begin; nil: the runtime handles every write

	mu      sync.Mutex // all below
	closed  bool
	was     identity.Identity // of the bytes that were found
	done    []scheduler.Range
	adopted int64 // bytes left by another tool, in front
	hold    bool  // what was found must not be thrown away
	inPlace bool  // file is NAME itself, adopted and not yet renamed
	whole   bool  // adopted or of an earlier run, and nothing is missing
	begun   bool
	keep    bool // there is something on disk that is worth resuming
	fresh   bool // NAME.part was made by Open, and its journal claims nothing and was not synced

	lost     bool    // NAME.part is not ours any more
	written  written // the journal that was written last
	reserved bool    // NAME is an empty file that this run made; see isReservation
	relic    bool    // there was a journal without a NAME.part
	nameless bool    // the file has no name yet: there is no NAME.part

	standing []string // regular files that may be the object already; see Standing
	id       identity.Identity
	broken   error // a sync failed: what is on disk is not known any more

	found []scheduler.Range // bytes that the last checkpoint found on disk
}

// Name is the path that is being filled in. Commit may have to choose another.
func (f *File) Name() string { return f.path }

// where is the path of the bytes that are there: NAME until an adopted one is begun.
func (f *File) where() string {
	if f.inPlace || f.whole {
		return f.path
	}
	return f.path + partSuffix
}

// Notice says why what an earlier run left was not used, or is empty. It is
// one line for the user.
func (f *File) Notice() string { return f.notice }

// Resume gives what an earlier run left: the identity of the object and the
// ranges that are on disk, sorted and disjoint, which the caller owns. ok is
// false if there is nothing. The bytes count only if they are of the object
// (identity.Resumed says how far that is shown); otherwise call Restart.
func (f *File) Resume() (id identity.Identity, done []scheduler.Range, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.done) == 0 {
		return identity.Identity{Size: -1}, nil, false
	}
	return f.was, slices.Clone(f.done), true
}

// Restart forgets what is there: the object has changed. Begin must follow,
// and only it destroys. It fails with ErrKeep if the bytes are not mlget's to
// throw away, but in a rerun a NAME of another tool's is left to it, and the object
// gets another name. No WriteAt may be in progress.
func (f *File) Restart() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.inPlace && f.target.Rerun:
		return f.unadopt()
	case f.hold:
		return fail("start over", f.where(), ErrKeep)
	}
	var err error
	if f.whole && len(f.standing) > 0 {
		err = f.unstand()
	}
	f.done, f.found, f.was, f.adopted = nil, nil, identity.Identity{}, 0
	f.begun, f.whole, f.fresh = false, false, false
	f.limit.Store(0)
	if f.nameless {
		f.fresh, err = true, fail("truncate", f.path, f.file.Truncate(0))
	}
	return err
}

// Begin sets the object's identity, before its first byte is written. It reserves the room for
// id.Size bytes (-1: unknown) where the file system can, and fails with ENOSPC (a *NoRoom where
// the missing size is known) or EDQUOT if there is none; records the identity, which for a new
// file the first Checkpoint does; and, unless the bytes that Resume returned are of this
// object, empties NAME.part. Bytes of another object are refused with ErrChanged: see Restart.
// For a file that was Standing it decides; where it finds bytes to continue, it fails with
// ErrLeft, and the next Begin goes on. If the files that Open found were removed or replaced
// meanwhile, it fails with ErrReplaced.
func (f *File) Begin(id identity.Identity) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.begun {
		return fail("begin", f.path, ErrClosed)
	}
	id = keepable(id)
	if len(f.standing) > 0 && !f.target.Late {
		looked := f.file != nil
		if err := f.settle(id); err != nil || f.whole {
			return err
		}
		if !looked && len(f.done) > 0 {
			return fail("begin", f.path, ErrLeft)
		}
	}
	if len(f.done) > 0 {
		if differ(f.was, id) || id.Size >= 0 && endOf(f.done) > id.Size {
			return fail("begin", f.path, ErrChanged)
		}
		id.Size = max(id.Size, f.was.Size)
	} else if f.hold {
		return fail("begin", f.where(), ErrKeep)
	}
	if err := f.stillOurs(); err != nil { // much may have happened since Open
		return err
	}
	f.id = id
	switch {
	case f.inPlace && f.adopted == id.Size:
		if err := f.sync(syncData); err != nil { // the program that wrote it may not have
			return err
		}
		if err := f.syncNames(); err != nil {
			return err
		}
		f.whole, f.begun = true, true
		return nil
	case f.inPlace:
		if err := f.beginAdopted(); err != nil {
			return err
		}
	case len(f.done) > 0:
		if err := f.reserve(); err != nil {
			return err
		}
		if err := f.writeJournal(f.done, true); err != nil {
			return err
		}
	case f.fresh: // the journal claims nothing, and there is nothing
		if err := f.reserve(); err != nil {
			return err
		}
	default:
		// The journal stops claiming bytes before they go.
		if err := f.writeJournal(nil, true); err != nil {
			return err
		}
		f.keep = false
		if err := f.file.Truncate(0); err != nil {
			return fail("truncate", f.path+partSuffix, err)
		}
		if err := f.reserve(); err != nil {
			return err
		}
	}
	f.begun = true
	if f.nameless && f.dir.brief != nil { // in the same file system
		f.brief = briefOf(f.file)
	} else {
		f.brief = newBrief(f.file)
	}
	if id.Size < 0 {
		f.limit.Store(math.MaxInt64)
	} else {
		f.limit.Store(id.Size)
	}
	return nil
}

// beginAdopted makes an adopted NAME the NAME.part. The journal comes first: a journal without
// a .part is harmless, a .part without a journal would belong to no download.
func (f *File) beginAdopted() error {
	fi, err := f.file.Stat()
	if err == nil && links(fi) > 1 {
		err = errLinked // its other name would lead to what becomes of it
	}
	if err != nil {
		return fail("continue", f.path, err)
	}
	if err := f.reserve(); err != nil {
		return err
	}
	if err := f.sync(syncData); err != nil { // the other tool may not have, and the journal will claim it
		return err
	}
	part := f.path + partSuffix
	if f.dir.exists(part) { // another download has begun meanwhile, with its own journal
		return fail("create", part, fs.ErrExist)
	}
	if err := f.writeJournal(f.done, true); err != nil {
		return err
	}
	if err := f.stillOurs(); err != nil { // syncing may have taken long
		return err
	}
	if err := f.dir.renameNoReplace(f.path, part); err != nil {
		_ = f.removeOwnJournal() // else it is taken for one that was left
		return fail("rename", f.path, err)
	}
	f.inPlace = false
	return f.syncNames()
}

// reserveFrom is from how many bytes on room is reserved for a file that may have
// no name before it is complete: of a small one, the first write tells as much, at
// less cost.
const reserveFrom = 1 << 20

// reserve asks for the room of the whole object.
func (f *File) reserve() error {
	if f.id.Size <= 0 || f.nameless && f.id.Size < reserveFrom {
		return nil
	}
	part := f.path + partSuffix
	if err := f.target.Run.checkRoom(f.file, f.path, f.id.Size); err != nil {
		return fail(Reserving, part, err)
	}
	err := preallocate(f.file, f.id.Size)
	if err == nil {
		return nil
	}
	err = fail(Reserving, part, err)
	// Give back what was had before the room ran out.
	if fi, serr := f.file.Stat(); serr == nil {
		err = errors.Join(err, f.file.Truncate(fi.Size()))
	}
	return err
}

// WriteAt writes p at off, as io.WriterAt asks. Bytes beyond the object's size
// are refused with ErrOutside before any is written.
func (f *File) WriteAt(p []byte, off int64) (int, error) {
	if limit := f.limit.Load(); off < 0 || off > limit || int64(len(p)) > limit-off {
		return 0, f.outside(len(p), off, limit)
	}
	done := f.brief.writeAt(p, off)
	if done == len(p) {
		return done, nil
	}
	n, err := f.file.WriteAt(p[done:], off+int64(done))
	if n += done; err != nil {
		return n, fail("write", f.path+partSuffix, err)
	}
	return n, nil
}

func (f *File) outside(n int, off, limit int64) error {
	reason := ErrOutside
	if limit == 0 {
		reason = ErrClosed
	}
	return fail("write", f.path+partSuffix, fmt.Errorf("%w: %d at %d of %d", reason, n, off, limit))
}

// ReadAt reads what was written, as io.ReaderAt asks: for a checksum, put an
// io.SectionReader of the object's size on it before Commit.
func (f *File) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.file.ReadAt(p, off)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, fail("read", f.path+partSuffix, err)
}
