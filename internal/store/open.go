package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// open tries f.path. It fails with errTaken if another name may do.
func (f *File) open(t Target) error {
	there, err := f.lookAtName(t)
	if err != nil {
		return err
	}
	if there && t.Explicit {
		if err := f.begunAs(); err != nil {
			return err
		}
	}
	part, err := f.dir.regular(f.path + partSuffix)
	if err != nil {
		return f.refuse(t, f.path+partSuffix, err)
	}
	if !part {
		// A journal without its .part was left by a run of ours, or is another program's file.
		_, err := f.readJournal()
		f.relic = err == nil || errors.Is(err, errBlank)
		switch {
		case f.relic, errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, errDamaged):
			return f.refuse(t, f.path+journalSuffix, ErrForeign)
		default:
			return f.refuse(t, f.path+journalSuffix, err)
		}
		if there && t.Continue {
			return f.adopt()
		}
	}
	if !part && t.Rerun && !t.Continue && f.openNameless() {
		return nil
	}
	created, err := f.takePart(t)
	if err != nil {
		return err
	}
	if created {
		return f.claim(t)
	}
	if err := f.load(t); err != nil {
		_ = f.close() // nothing was written; the first error counts
		return err
	}
	return nil
}

// lookAtName says whether NAME exists and refuses what must not be replaced.
func (f *File) lookAtName(t Target) (there bool, err error) {
	fi, err := f.dir.lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fail("open", f.path, err)
	}
	if replace := t.Replace && fi.Mode().IsRegular() && !t.Run.anothers(f.path, fi, f.from); !t.Explicit && !replace && (!t.Continue || fi.IsDir() || t.Run.anothers(f.path, fi, f.from)) {
		if f.reserved = f.isReservation(fi); f.reserved {
			return false, nil
		}
		return true, errTaken
	}
	if at, err := os.Stat(f.path); err == nil && at.IsDir() {
		return true, fail("open", f.path, ErrDirectory)
	}
	if !fi.Mode().IsRegular() {
		if t.Continue {
			return true, fail("continue", f.path, ErrForeign)
		}
		return true, nil
	}
	// A file that the user may not write must not be replaced by a rename.
	w, err := f.dir.openFile(f.path, os.O_WRONLY, 0)
	if err != nil {
		return true, fail("open", f.path, err)
	}
	if err := w.Close(); err != nil {
		return true, fail("close", f.path, err)
	}
	f.mode, f.replaces = fi.Mode().Perm(), true
	own, err := f.dir.owned(fi)
	if err == nil && !own { // another user's part stays as it is
		var grant grant
		grant, err = f.dir.grants()
		f.mode &= grant.mode
	}
	return true, fail("open", f.path, err)
}

// isReservation says whether NAME, which fi is of, is the empty file that a run made
// which was then ended before it could replace it: see linkNoReplace. There is a
// NAME.part of the same download then, with all bytes, as far as its journal knows.
func (f *File) isReservation(fi fs.FileInfo) bool {
	if !fi.Mode().IsRegular() || fi.Size() > 0 {
		return false
	}
	part, err := f.dir.lstat(f.path + partSuffix)
	if err != nil || !part.Mode().IsRegular() || part.Size() == 0 {
		return false
	}
	j, err := f.readJournal()
	return errors.Is(err, errDamaged) || err == nil && j.URLSum == f.from.sum && (j.Size < 0 || j.Size == part.Size())
}

// regular says whether path exists; it is an error if that is not a file.
func (d *directory) regular(path string) (bool, error) {
	fi, err := d.lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !fi.Mode().IsRegular() {
		return true, ErrForeign
	}
	return true, nil
}

// refuse is the answer to a file at path that cannot be used because of err: if it is foreign,
// another name may do.
func (f *File) refuse(t Target, path string, err error) error {
	if errors.Is(err, ErrForeign) && !t.Explicit && !t.Continue {
		if why := planted(err); why != "" {
			f.notice = fmt.Sprintf("%s is left alone, and another name is used: %s", path, why)
		}
		return errTaken
	}
	return fail("open", path, err)
}

// takePart opens and locks NAME.part. created says that it was not there.
func (f *File) takePart(t Target) (created bool, err error) {
	if _, err := f.dir.grants(); err != nil { // Commit asks again, when it is too late to fail
		return false, fail("open", f.path+partSuffix, err)
	}
	const attempts = 10
	for n := range attempts {
		flags := 0 // to open; every other time, to create
		if created = n%2 == 0; created {
			flags = os.O_CREATE | os.O_EXCL
		}
		file, current, err := f.dir.openLocked(f.path+partSuffix, flags, false)
		switch {
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist) && !created:
			continue
		case errors.Is(err, ErrForeign):
			return false, f.refuse(t, f.path+partSuffix, err)
		case errors.Is(err, ErrBusy):
			return false, f.busy(t)
		case err != nil:
			return false, err
		}
		if current {
			f.file = file
			return created, nil
		}
		// The run that held the lock has just given the file its name, or removed it.
		if err := filelock.Close(file); err != nil {
			return false, fail("close", f.path+partSuffix, err)
		}
	}
	return false, f.busy(t)
}

// openLocked opens path for reading and writing and locks it, unless it is not ours: then it
// fails with ErrForeign. linked: it is ours even if it has a second name. A new file is for its
// owner alone. current says whether path still leads to the file that was locked.
func (d *directory) openLocked(path string, flags int, linked bool) (file *os.File, current bool, err error) {
	file, err = d.openFile(path, os.O_RDWR|flags, partMode)
	if err != nil {
		return nil, false, fail("open", path, err)
	}
	// A new one is ours, and is locked before another mlget can think that it was left.
	if flags&os.O_EXCL == 0 {
		fi, err := file.Stat()
		if err == nil {
			err = d.ours(fi)
		}
		if err != nil && (!linked || !errors.Is(err, errLinked)) {
			_ = file.Close() // nothing was written
			return nil, false, fail("open", path, err)
		}
	}
	if err := lock(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, false, fail("lock", path, err)
	}
	got, err := file.Stat()
	if err != nil {
		_ = filelock.Close(file)
		return nil, false, fail("open", path, err)
	}
	now, err := d.lstat(path)
	return file, err == nil && now.Mode().IsRegular() && os.SameFile(got, now), nil
}

// lock takes f for this process alone and fails with ErrBusy if another has it.
func lock(f *os.File) error {
	if filelock.Take(f) != nil {
		return ErrBusy
	}
	return nil
}

// busy is the answer to a locked name: the same download twice is a mistake,
// another one can have another name.
func (f *File) busy(t Target) error {
	if !t.Explicit && !t.Continue {
		if j, err := f.readJournal(); err != nil || j.URLSum != f.from.sum {
			return errTaken
		}
	}
	return fail("open", f.path, ErrBusy)
}

// readJournal reads NAME.part.json, which is of an earlier run.
func (f *File) readJournal() (journal, error) {
	fi, b, err := f.dir.readOurs(f.path + journalSuffix)
	if err != nil {
		return journal{}, err
	}
	j, err := decodeJournal(b)
	if !errors.Is(err, ErrForeign) {
		f.written = newWritten(fi, b)
	}
	return j, err
}

// readOurs reads a file of mlget's own, but no more than maxJournal and a byte. It fails
// with ErrForeign if that is not ours.
func (d *directory) readOurs(path string) (fs.FileInfo, []byte, error) {
	const attempts = 10 // another mlget may replace it at any moment
	for range attempts {
		if there, err := d.regular(path); err != nil {
			return nil, nil, err
		} else if !there {
			return nil, nil, fs.ErrNotExist
		}
		r, err := d.openFile(path, os.O_RDONLY, 0)
		if err != nil {
			return nil, nil, err
		}
		fi, b, err := d.readOpened(path, r)
		_ = r.Close() // it was only read
		if !errors.Is(err, errReplaced) {
			return fi, b, err
		}
	}
	return nil, nil, ErrForeign
}

// errReplaced: the file that was opened is not at its path any more.
var errReplaced = errors.New("replaced meanwhile")

// readOpened is readOurs of a file that was opened at path.
func (d *directory) readOpened(path string, r *os.File) (fs.FileInfo, []byte, error) {
	fi, err := r.Stat()
	if err != nil {
		return nil, nil, err
	}
	now, err := d.lstat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case !now.Mode().IsRegular(): // such as a link, which was followed
		return nil, nil, ErrForeign
	case !os.SameFile(fi, now):
		return nil, nil, errReplaced
	}
	if err := d.ours(fi); err != nil {
		return nil, nil, err
	}
	b, err := io.ReadAll(io.LimitReader(r, maxJournal+1))
	return fi, b, err
}

// load decides, with NAME.part locked, what becomes of what is in it.
func (f *File) load(t Target) error {
	fi, err := f.file.Stat()
	if err != nil {
		return fail("open", f.path+partSuffix, err)
	}
	f.keep = true
	j, err := f.readJournal()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if fi.Size() > 0 {
			return f.refuse(t, f.path+partSuffix, ErrForeign)
		}
		return f.claim(t)
	case errors.Is(err, errDamaged):
		f.notice = err.Error()
		return nil
	case err != nil:
		return f.refuse(t, f.path+journalSuffix, err)
	}
	other := j.URLSum != f.from.sum
	if other && !t.Explicit && !t.Continue {
		return errTaken
	}
	var refused string
	if other && !t.Continue {
		refused = fmt.Sprintf("what was there is of another URL, %q", j.URL)
	} else if fi.Size() < endOf(j.Done) {
		refused = fmt.Sprintf("%s has %d bytes where the journal claims some up to %d",
			f.path+partSuffix, fi.Size(), endOf(j.Done))
	} else if at, found := firstHole(f.file, j.Done); found {
		refused = fmt.Sprintf("%s has nothing at %d, which the journal claims", f.path+partSuffix, at)
	}
	if refused != "" {
		if j.Adopted > 0 {
			return fail("open", f.path+partSuffix, ErrKeep)
		}
		f.notice = refused
		return nil
	}
	f.was, f.done, f.adopted = j.identity(), j.Done, j.Adopted
	f.hold = j.Adopted > 0 || other && !t.Explicit && len(j.Done) > 0
	return nil
}

// claim begins with an empty NAME.part, locked; a journal beside it is a relic.
// It writes the first journal, by which another mlget knows whose the name is.
// There is nothing in it to lose, so it is not synced, unless it replaces one, which
// would claim bytes of the new .part if it came back.
func (f *File) claim(t Target) error {
	f.keep, f.fresh, f.id.Size = false, true, -1
	err := f.writeJournal(nil, f.relic)
	if err == nil && !t.Explicit && !t.Continue && !f.replaces {
		// The run that held the .part may just have given it its name.
		if _, lerr := f.dir.lstat(f.path); lerr == nil {
			err = errTaken
		}
	}
	if err != nil {
		_ = f.remove() // what there is of it is empty; the first error counts
	}
	return err
}

// adopt takes over a NAME that another tool left: all its bytes count as done.
// It stays where it is until Begin.
func (f *File) adopt() error {
	file, current, err := f.dir.openLocked(f.path, 0, true)
	if err != nil {
		return err
	}
	fi, err := file.Stat()
	if err != nil || !current { // it was renamed a moment ago
		_ = filelock.Close(file)
		return fail("open", f.path, errors.Join(ErrBusy, err))
	}
	if err := f.dir.unfinished(f.path, file); err != nil {
		_ = filelock.Close(file)
		return fail("continue", f.path, err)
	}
	if _, err := f.dir.grants(); err != nil {
		_ = filelock.Close(file)
		return fail("create", f.path+partSuffix, err)
	}
	f.file, f.inPlace, f.keep = file, true, true
	f.was, f.adopted, f.hold = identity.Identity{Size: -1}, fi.Size(), fi.Size() > 0
	if l, ok := f.target.Run.remembered(f.path); ok && l.Size == fi.Size() { // all of an object
		f.was = l.identity()
	}
	if fi.Size() > 0 {
		f.done = []scheduler.Range{{End: fi.Size()}}
	}
	return nil
}

// unadopt leaves NAME as it was found, and f goes on as without Continue.
func (f *File) unadopt() error {
	if err := f.close(); err != nil {
		return err
	}
	f.target.Continue = false
	f.done, f.was, f.adopted = nil, identity.Identity{}, 0
	f.hold, f.inPlace, f.whole, f.begun = false, false, false, false
	f.standing = nil
	f.look()
	return f.find()
}
