package store

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/identity"
)

// A job of several files that is run again must neither fetch what it has nor put
// a NAME.1 beside it. Which of the files that are there are its own, no journal
// says: those are gone when a file is complete. So a file is taken for the object
// by rsync's rule, that size and time of change are the same; Commit gives it the
// server's time for that. A server that tells no time is believed by the size, unless it
// tells another ETag than when the file was complete (see finished).
// Anything else is another object, which is left alone, unless it turns out, when
// all bytes have come, that they are the same.

// sameTime is how far two times of one file may lie apart: FAT counts in 2 s.
const sameTime = 2 * time.Second

// Standing says, before Open, whether NAME is there already and Rerun wants it
// looked at (there), and whether an earlier run left a .part of it (left). It makes
// nothing, and what it says may not hold any more when Open is called.
func (t Target) Standing(u *url.URL) (there, left bool) {
	name := t.Path(u)
	if t.Rerun && !t.Late {
		fi, err := os.Lstat(name)
		there = err == nil && fi.Mode().IsRegular()
	}
	_, err := os.Lstat(name + partSuffix)
	return there, err == nil
}

// Standing says that there is a file already that may be the object (see Target.Rerun). Begin
// finds out, with the object's identity. Until then no more than a byte need be requested:
// Whole says afterwards whether the rest is wanted.
func (f *File) Standing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.standing) > 0 && !f.begun && !f.target.Late
}

// Whole says, after Begin, that every byte is on disk already. Commit then only
// gives the name; the file can be read, and is not touched.
func (f *File) Whole() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.whole
}

// look gathers the files that may be the object, and says whether there are any,
// and nothing to resume, so that all else can wait for Begin.
func (f *File) look() bool {
	wait := true
	for n := range maxNumber + 1 {
		name := numbered(f.first, n)
		part := func() bool { _, err := f.dir.lstat(name + partSuffix); return err == nil }
		if fi, err := f.dir.lstat(name); err == nil && fi.Mode().IsRegular() && f.complete(name) {
			f.standing = append(f.standing, name)
		} else if err != nil {
			if !part() {
				break
			}
			wait = false // there may be something to resume
		}
		if f.target.Continue { // settles for NAME
			wait = !part()
			break
		}
	}
	if len(f.standing) == 0 {
		return false
	}
	f.path = f.standing[0]
	return wait
}

// settle decides whether one of the files that are there is the object, and
// else opens another name.
func (f *File) settle(id identity.Identity) error {
	for _, remembered := range []bool{true, false} {
		for _, name := range f.standing {
			if l, ok := f.target.Run.remembered(name); ok == remembered && (!ok || l.of(id)) && f.isThere(name, id) {
				f.id = id
				return f.stand(name)
			}
		}
	}
	if f.file == nil {
		if err := f.find(); err != nil {
			return err
		}
	}
	if differ(f.was, id) && !f.hold { // of a version before
		f.done, f.was, f.adopted = nil, identity.Identity{}, 0
	}
	return nil
}

// isThere says whether the file called name is the object.
func (f *File) isThere(name string, id identity.Identity) bool {
	fi, err := f.dir.lstat(name)
	if err != nil || !fi.Mode().IsRegular() || id.Size < 0 || fi.Size() != id.Size {
		return false
	}
	at, known := id.Modified()
	return (!known || f.target.Continue || fi.ModTime().Sub(at).Abs() < sameTime) &&
		f.target.Run.take(name, fi, f.from)
}

// stand makes f the file called name, which is the object.
func (f *File) stand(name string) error {
	r, err := f.openThere(name)
	if err != nil {
		return fail("open", name, err)
	}
	if err := f.forgetPart(); err != nil {
		_ = r.Close() // nothing was written
		return err
	}
	f.file, f.path, f.closed = r, name, false
	f.done, f.whole, f.begun = nil, true, true
	return nil
}

// openThere opens the plain file called name, to read it.
func (f *File) openThere(name string) (*os.File, error) {
	r, err := f.dir.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	fi, err := r.Stat()
	if now, lerr := f.dir.lstat(name); err != nil || lerr != nil || !fi.Mode().IsRegular() || !os.SameFile(fi, now) {
		_ = r.Close() // nothing was written
		return nil, ErrForeign
	}
	return r, nil
}

// forgetPart takes away what there is of NAME.part, unless that is not ours.
func (f *File) forgetPart() error {
	switch {
	case f.file == nil:
		return nil
	case f.hold:
		return f.close()
	}
	return f.remove()
}

// unstand makes f what it was before Begin found it whole.
func (f *File) unstand() error {
	err := f.file.Close()
	f.file, f.fresh = nil, false
	return fail("close", f.path, err)
}

// twin is an earlier file with the same size bytes as this one: one that was there before, or
// that another run of the same job has saved since under the names before this one's; "" if
// there is none.
func (f *File) twin(size int64) (string, error) {
	names := slices.Clip(f.standing)
	for n := 0; f.target.Rerun && numbered(f.first, n) != f.path && n <= maxNumber; n++ {
		names = append(names, numbered(f.first, n))
	}
	for _, name := range names {
		if same, err := f.sameAs(name, size); same || err != nil {
			return name, err
		}
	}
	return "", nil
}

// sameAs says whether the file called name has the same size bytes as this one.
func (f *File) sameAs(name string, size int64) (bool, error) {
	fi, err := f.dir.lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() != size {
		return false, nil //nolint:nilerr // one that cannot be looked at is another
	}
	r, err := f.openThere(name)
	if err != nil {
		return false, nil //nolint:nilerr // and so is one that cannot be read
	}
	defer r.Close() //nolint:errcheck // it was only read
	same, err := equal(r, io.NewSectionReader(f.file, 0, size))
	return same, fail("read", f.path+partSuffix, err)
}

// equal compares what two readers give. An error of the first is a difference.
func equal(a, b io.Reader) (bool, error) {
	p, q := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(b, q)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, err
		}
		if m, _ := io.ReadFull(a, p[:n]); m < n || !bytes.Equal(p[:n], q[:n]) {
			return false, nil
		}
		if err != nil {
			return true, nil
		}
	}
}
