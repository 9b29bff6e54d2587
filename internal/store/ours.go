package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/pkg/scheduler"
)

// The lock on NAME.part keeps out other mlgets only. Whatever other programs do to it meanwhile
// must not lead to a name for bytes that are not ours, to a journal that claims bytes of
// another file, or to the removal of their file. Bytes that they write into it are found by a
// checksum alone.

// stillOurs fails with ErrReplaced if NAME.part, or an adopted NAME, is not the opened file any
// more. Then this run's journal beside it is removed.
func (f *File) stillOurs() error {
	if f.nameless {
		return nil
	}
	ours, err := f.file.Stat()
	if err != nil {
		return fail("look at", f.where(), err)
	}
	if there, err := f.dir.lstat(f.where()); err == nil && os.SameFile(ours, there) {
		return nil
	}
	f.keep, f.lost = true, true
	_ = f.removeOwnJournal() // else it is taken for one that was left
	return fail("find", f.where(), ErrReplaced)
}

// written is a journal that was written: which file it is, and its content. The file is not
// kept open, so its inode number may be another file's as soon as it is removed.
type written struct {
	file fs.FileInfo
	sum  [sha256.Size]byte
}

func newWritten(file fs.FileInfo, text []byte) written {
	return written{file, sha256.Sum256(text)}
}

// is says whether the journal is a file with that text.
func (w written) is(file fs.FileInfo, text []byte) bool {
	return w.file != nil && os.SameFile(w.file, file) && sha256.Sum256(text) == w.sum
}

// looksLike is is, by what is known of the file without opening it.
func (w written) looksLike(file fs.FileInfo) bool {
	return w.file != nil && os.SameFile(w.file, file) && w.file.Size() == file.Size() && w.file.ModTime().Equal(file.ModTime())
}

// removeOwnJournal removes the journal if it is the one that f read or wrote last: another
// program may have replaced it.
func (f *File) removeOwnJournal() error {
	there, text, err := f.dir.readOurs(f.path + journalSuffix)
	own := err == nil && f.written.is(there, text)
	if errno.IsScarce(err) { // it cannot be read, but looked at
		there, err = f.dir.lstat(f.path + journalSuffix)
		own = err == nil && f.written.looksLike(there)
	}
	if !own {
		return nil //nolint:nilerr // it is foreign
	}
	err = f.dir.remove(f.path + journalSuffix)
	if errors.Is(err, fs.ErrNotExist) { // its owner has just removed it
		return nil
	}
	return fail("remove", f.path+journalSuffix, err)
}

// dropRelic removes the journal that a run which was killed after it had given a file its name
// has left beside it: one of the same URL, without a NAME.part.
func (f *File) dropRelic(name string) {
	if f.dir.exists(name + partSuffix) {
		return
	}
	if _, text, err := f.dir.readOurs(name + journalSuffix); err == nil {
		if j, err := decodeJournal(text); err == nil && j.URLSum == f.from.sum {
			_ = f.dir.remove(name + journalSuffix) // it does no harm
		}
	}
}

// mayGo fails, with ErrForeign, unless what is at path may be thrown away: nothing, or what
// a run that was killed, or lost power, may have left of a journal that it was writing: a
// part of one, or zeros.
func (d *directory) mayGo(path string) error {
	const begins = `{"mlget_journal":`
	_, b, err := d.readOurs(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return ErrForeign
	case err != nil:
		return err
	}
	if b = bytes.TrimRight(b[:min(len(b), len(begins))], "\x00"); !strings.HasPrefix(begins, string(b)) {
		return ErrForeign
	}
	return nil
}

// cutSeen is how many bytes of a range's end show whether the file was cut below them: of the
// largest pages the last one may have been filled again, and the one before been cut within.
const cutSeen = 2 * 64 << 10

// unchecked are the ranges of done that show whether any of its bytes are lacking, where those of
// found were there before: what is new, and the end of what is not, since who cuts a file takes off
// its end. Looking for holes costs 15 µs per MB in memory. Both lists are sorted and disjoint.
func unchecked(done, found []scheduler.Range) (ranges []scheduler.Range) {
	for _, r := range done {
		for ; len(found) > 0 && found[0].End <= r.End; found = found[1:] {
			if found[0].Off < r.Off {
				continue // not all of it is claimed any more
			}
			ranges = append(ranges, scheduler.Range{Off: r.Off, End: found[0].Off})
			r.Off = max(found[0].Off, found[0].End-cutSeen)
		}
		ranges = append(ranges, r)
	}
	return ranges
}

// whereLacking finds bytes in done that were never written, or were cut off since, as
// far as the file system can tell. Then nothing is claimed any more.
func (f *File) whereLacking(done []scheduler.Range) error {
	at, found := firstHole(f.file, done)
	if !found {
		return nil
	}
	err := fail("check", f.path+partSuffix, fmt.Errorf("%w: at %d, where they had been written: was it cut?", ErrIncomplete, at))
	if f.begun && !f.nameless && !f.inPlace {
		err = errors.Join(err, f.writeJournal(nil, true))
	}
	return err
}
