package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Checkpoint makes everything written so far durable and then records that the
// ranges done, sorted and disjoint, are there. Every byte in them must have
// been written before the call. It may take long on a slow disk; WriteAt goes
// on meanwhile. After a failed sync the kernel may have dropped the bytes
// that it could not write, so every later Checkpoint and Commit fails too.
func (f *File) Checkpoint(done []scheduler.Range) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checkpoint(done)
}

func (f *File) checkpoint(done []scheduler.Range) error {
	if f.closed || !f.begun {
		return fail("checkpoint", f.path, ErrClosed)
	}
	if f.whole {
		return nil
	}
	if err := checkRanges(done, f.id.Size); err != nil {
		return fail("checkpoint", f.path, fmt.Errorf("%w: %w", ErrOutside, err))
	}
	fi, err := f.file.Stat()
	if err != nil {
		return fail("checkpoint", f.path, err)
	}
	if fi.Size() < endOf(done) {
		return fail("checkpoint", f.path, fmt.Errorf("%w: %d of %d were written", ErrIncomplete, fi.Size(), endOf(done)))
	}
	if len(done) == 0 && f.nameless {
		return nil // there is nothing to find again
	}
	if err := f.nameBeforeBytes(nil); err != nil {
		return err
	}
	if err := f.sync(syncData); err != nil {
		return err
	}
	if _, lacks := firstHole(f.file, unchecked(done, f.found)); lacks {
		return f.whereLacking(done)
	}
	f.found = slices.Clone(done)
	if err := f.record(done); err != nil {
		return err
	}
	f.keep = len(done) > 0 || f.adopted > 0
	return nil
}

// sync runs how, once and for all.
func (f *File) sync(how func(*os.File) error) error {
	if f.broken == nil {
		f.broken = fail("sync", f.path+partSuffix, how(f.file))
	}
	return f.broken
}

// nameBeforeBytes makes sure that a loss of power cannot leave NAME.part without its journal's
// name, which was not synced yet: such a part would belong to no download. A directory in
// synced, unless that is nil, needs no further sync; others are added.
func (f *File) nameBeforeBytes(synced map[*directory]error) error {
	if !f.fresh || f.nameless {
		return nil
	}
	f.fresh = false
	if err, ok := synced[f.dir]; ok || inOrder(f.dir.shown()) {
		return err
	}
	err := f.syncNames()
	if synced != nil {
		synced[f.dir] = err
	}
	return err
}

// syncNames makes the names in the directory durable.
func (f *File) syncNames() error { return fail("sync", f.dir.shown(), f.dir.sync()) }

// record makes a journal durable that claims done, whose bytes are. A file that has
// no name gets NAME.part with it.
func (f *File) record(done []scheduler.Range) error {
	if f.nameless {
		return f.takeName(done)
	}
	if err := f.stillOurs(); err != nil {
		return err
	}
	return f.writeJournal(done, true)
}

// journalOf is the content of a journal that claims done.
func (f *File) journalOf(done []scheduler.Range) ([]byte, error) {
	b, err := journal{
		Version: journalVersion,
		URL:     f.from.display, URLSum: f.from.sum,
		Size: f.id.Size, ETag: f.id.ETag, LastModified: f.id.LastModified, Encoding: f.id.Encoding,
		Adopted: f.adopted, Done: done,
	}.encode()
	return b, fail("write", f.path+journalSuffix, err)
}

// writeJournal replaces NAME.part.json by one that claims done.
func (f *File) writeJournal(done []scheduler.Range, durable bool) error {
	b, err := f.journalOf(done)
	if err != nil {
		return err
	}
	path := f.path + journalSuffix
	tmp, made, err := f.dir.writeNew(f.path+newSuffix, b, durable)
	if err != nil {
		return fail("write", f.path+newSuffix, err)
	}
	if !f.replaceable(path) {
		_ = f.dir.remove(tmp) // the first error counts
		return fail("replace", path, ErrReplaced)
	}
	if err := f.dir.rename(tmp, path); err != nil {
		_ = f.dir.remove(tmp) // the first error counts
		return fail("rename", tmp, err)
	}
	f.written = newWritten(made, b)
	if durable {
		return f.syncNames()
	}
	return nil
}

// replaceable says whether the file at the journal's path may be replaced: f read or wrote it,
// or it is of another mlget that has just ended.
func (f *File) replaceable(path string) bool {
	there, b, err := f.dir.readOurs(path)
	switch {
	case err != nil:
		return errors.Is(err, fs.ErrNotExist)
	case f.written.is(there, b):
		return true
	}
	_, err = decodeJournal(b)
	return err == nil || errors.Is(err, errBlank)
}

// newMost is how many names are tried for a journal that is being written. Chosen by hand:
// strangers have one in the way, if any.
const newMost = 10

// writeNew writes b to a new file for its owner alone: path or, where that belongs to another
// program, a numbered name. It first removes what a killed run left at path. The returned info
// identifies the new file. After a failure nothing is left.
func (d *directory) writeNew(path string, b []byte, durable bool) (name string, made fs.FileInfo, err error) {
	if d.exists(path) && d.mayGo(path) == nil {
		if err := d.remove(path); err != nil {
			return "", nil, err
		}
	}
	var w *os.File
	for n := range newMost {
		name = numbered(path, n)
		w, err = d.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, partMode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			_ = d.remove(name) // it may be there in part; the first error counts
		}
	}()
	_, err = w.Write(b)
	if err == nil && durable {
		err = w.Sync()
	}
	if err == nil {
		made, err = w.Stat()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	return name, made, err
}

// Suspend ends an unfinished download so that the next run continues it: a last Checkpoint,
// then Close, even if that failed.
func (f *File) Suspend(done []scheduler.Range) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	if !f.closed && f.begun {
		err = f.checkpoint(done)
		if noSpace(err) && f.broken == nil && !f.keep {
			err = f.checkpointOnFullDisk(done)
		}
	}
	return errors.Join(err, f.discard())
}

// journalRoom is how many bytes are given up for a journal on a disk that is full: its own,
// and what a file system takes for a name and a file. Chosen by hand.
const journalRoom = 64 << 10

// checkpointOnFullDisk makes the first checkpoint of a file when there is no room for its
// journal, by giving up the last reserved bytes. They are not written yet, and no journal
// claims them.
func (f *File) checkpointOnFullDisk(done []scheduler.Range) error {
	done = withoutLast(done, journalRoom)
	if err := f.file.Truncate(endOf(done)); err != nil {
		return fail("truncate", f.path+partSuffix, err)
	}
	return f.checkpoint(done)
}

// withoutLast is sorted ranges without their last n bytes.
func withoutLast(ranges []scheduler.Range, n int64) []scheduler.Range {
	ranges = slices.Clone(ranges)
	for n > 0 && len(ranges) > 0 {
		last := &ranges[len(ranges)-1]
		cut := min(n, last.Len())
		last.End -= cut
		if n -= cut; last.Empty() {
			ranges = ranges[:len(ranges)-1]
		}
	}
	return ranges
}

// noSpace says whether there is no room on the disk, or for its user.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Reject ends a download whose bytes turned out wrong. They stay in NAME.part
// to be looked at; the next run starts over. Where it will not, the error says what
// stands in its way: ErrKeep, for bytes of another tool are in NAME.part, or
// ErrStands, for NAME was there, whole, and is not touched.
func (f *File) Reject() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || !f.begun {
		return fail("reject", f.path, ErrClosed)
	}
	f.keep = true
	defer f.leave()
	if f.whole {
		return errors.Join(fail("replace", f.path, ErrStands), f.close())
	}
	err := errors.Join(f.record(nil), f.close())
	if err == nil && f.adopted > 0 {
		err = fail("start over", f.where(), ErrKeep)
	}
	return err
}

// Close ends the download as it was last recorded, and removes NAME.part and
// its journal if nothing in them is worth resuming. After Commit, Suspend and
// Reject it does nothing.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.discard()
}

func (f *File) discard() error {
	defer f.leave()
	if f.closed || f.keep || f.whole || f.file == nil {
		return f.close()
	}
	return f.remove()
}

// remove takes away NAME.part and its journal and closes. The journal goes first: while the
// .part is there and locked, the journal cannot be another download's. The bytes go before the
// name: a .part with bytes and without a journal would belong to no download if removing
// stopped there, but an empty one can be taken over.
func (f *File) remove() error {
	if f.nameless {
		return f.close()
	}
	if f.lost || f.stillOurs() != nil { // it is not ours to remove
		return f.close()
	}
	if fi, err := f.file.Stat(); err == nil && fi.Size() > 0 && f.file.Truncate(0) == nil {
		_ = f.file.Sync() // a failed write is reported by the sync that relies on it
	}
	err := f.removeOwnJournal()
	if perr := f.dir.remove(f.path + partSuffix); perr != nil && !errors.Is(perr, fs.ErrNotExist) {
		err = errors.Join(err, fail("remove", f.path+partSuffix, perr))
	}
	return errors.Join(err, f.close())
}

// leave gives the directory up: f is of no more use.
func (f *File) leave() {
	if f.dir != nil {
		f.dir.release()
		f.dir = nil
	}
}

func (f *File) close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.limit.Store(0)
	if f.file == nil { // it was Standing and never begun
		return nil
	}
	return fail("close", f.path, filelock.Close(f.file))
}
