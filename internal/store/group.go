package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// CommitOptions is known when every byte is there.
type CommitOptions struct {
	Size    int64     // of the object, bytes
	Name    string    // what the server calls it, unsafe; "": nothing. See Target.Served
	ModTime time.Time // the file's time of change; zero: the server's, where it tells one and Target.OwnTime is not set
}

// Commit gives the file its name: every byte is there and checked. It returns
// the path, which is another than Name if that has come to exist meanwhile and
// must not be replaced. The File is closed unless there is an error. A file
// that was adopted and lacked nothing is left as it is. A time or a mode that
// the file system does not take is no error.
func (f *File) Commit(o CommitOptions) (string, error) {
	done := CommitAll([]Pending{{File: f, Options: o}})[0]
	return done.Name, done.Err
}

// Pending is a file that is to get its name.
type Pending struct {
	File    *File
	Options CommitOptions
}

// Committed is the result of a Pending, as Commit returns it.
type Committed struct {
	Name string
	Err  error
}

// CommitAll is Commit of many files at once, each with its own result. It makes
// them durable together, which costs little more than one of them would, then
// gives them their names, then makes the names durable. So of each holds what
// holds of one: its name appears when its bytes are durable. No file may be in
// batch twice.
func CommitAll(batch []Pending) []Committed {
	steps := make([]commit, len(batch))
	var files []*os.File
	dirs := make(map[*directory]error)
	for i, p := range batch {
		c := &steps[i]
		c.f = p.File
		if c.prepare(p.Options, dirs); c.needsSync() {
			files = append(files, c.f.file)
		}
	}
	errs := syncFiles(files)
	clear(dirs)
	for i := range steps {
		c := &steps[i]
		if c.needsSync() {
			c.synced(errs[0])
			errs = errs[1:]
		}
		if c.rename(); c.moved {
			dirs[c.f.dir] = nil
		}
	}
	for dir := range dirs {
		dirs[dir] = fail("sync", dir.shown(), dir.sync())
	}
	out := make([]Committed, len(batch))
	for i := range steps {
		c := &steps[i]
		if c.moved {
			c.err = errors.Join(dirs[c.f.dir], c.f.end(c.journal))
		}
		if c.err == nil && c.f.target.Rerun {
			c.f.target.Run.remember(c.name, batch[i].Options.Size, c.f.id)
		}
		out[i] = Committed{Name: c.name, Err: c.err}
	}
	return out
}

// commit is one file of a CommitAll on its way.
type commit struct {
	f       *File
	size    int64
	to      string    // the name that it is to have
	at      time.Time // its time of change; zero: as it is
	name    string    // where it has come to be, if it has
	moved   bool      // its directory has changed
	journal bool      // there is one, to be removed when the name is durable
	err     error
}

// needsSync says whether there are bytes to make durable.
func (c *commit) needsSync() bool { return c.err == nil && c.name == "" }

// prepare does all that must come before the bytes are durable. The directories in
// synced are so already for this.
func (c *commit) prepare(o CommitOptions, synced map[*directory]error) {
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed || !f.begun:
		c.err = fail("finish", f.path, ErrClosed)
		return
	case f.whole:
		f.dropRelic(f.path)
		c.name, c.err = f.path, f.close()
		f.leave()
		return
	}
	if c.size, c.err = o.Size, f.trim(o.Size); c.err != nil {
		return
	}
	c.to = f.target.served(f.path, o.Name)
	if c.err = f.posesAsJournal(c.to, o.Size); c.err != nil {
		return
	}
	if c.at = o.ModTime; c.at.IsZero() && !f.target.OwnTime {
		c.at, _ = f.id.Modified()
	}
	if twin, err := f.twin(o.Size); err != nil || twin != "" {
		c.drop(twin, err)
		return
	}
	if c.err = f.grantMode(); c.err != nil {
		return
	}
	f.setTime(c.at)
	c.err = cmp.Or(f.broken, f.nameBeforeBytes(synced))
}

// synced takes in what became of the bytes.
func (c *commit) synced(err error) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	c.f.broken = fail("sync", c.f.path+partSuffix, err)
	c.err = c.f.broken
	if c.err == nil && !c.f.nameless {
		c.err = c.f.whereLacking([]scheduler.Range{{End: c.size}})
	}
}

// rename gives the file its name.
func (c *commit) rename() {
	if c.err != nil || c.name != "" {
		return
	}
	f := c.f
	f.mu.Lock()
	defer f.mu.Unlock()
	f.limit.Store(0)
	if c.err = f.stillOurs(); c.err != nil {
		return
	}
	part := f.path + partSuffix
	if fi, err := f.file.Stat(); err == nil { // before anybody can see it under its name
		f.target.Run.take(part, fi, f.from)
	}
	name, err := f.rename(part, c.to, c.size)
	if errors.Is(err, errTaken) {
		c.drop(name, nil)
		return
	}
	if c.name, c.err = name, err; err != nil {
		return
	}
	f.give(name) // FAT may know it by another number now
	c.moved, c.journal = true, !f.nameless
}

// drop ends a file that is there already under that name. err: it could not be
// found out.
func (c *commit) drop(name string, err error) {
	if c.err = err; err != nil {
		return
	}
	c.f.dir.setTime(name, c.at)
	c.f.give(name)
	c.name, c.err = name, c.f.remove()
	c.f.dropRelic(name)
	c.f.leave()
}

// end closes a file that has its name, and removes its journal, if there is one. The removal
// waits until the name is durable: a .part that came back without a journal would belong to no
// download. A journal that comes back without a .part is harmless.
func (f *File) end(journal bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.leave()
	var err error
	if journal {
		err = f.removeOwnJournal()
	}
	return errors.Join(err, f.close())
}

// give notes that the file called name is f's now.
func (f *File) give(name string) {
	if fi, err := f.dir.lstat(name); err == nil {
		f.target.Run.take(name, fi, f.from)
	}
}

// grantMode gives the file, which is complete, the mode that it is to have. A part that is
// not for its owner alone has been given one by the user, or was adopted.
func (f *File) grantMode() error {
	mode := f.mode
	if !f.replaces {
		fi, err := f.file.Stat()
		if err != nil {
			return fail("look at", f.path+partSuffix, err)
		}
		if f.nameless || f.adopted > 0 || fi.Mode().Perm() != partMode {
			return nil
		}
		grant, err := f.dir.grants()
		if err != nil {
			return fail("create", f.path, err)
		}
		mode = grant.mode
	}
	_ = f.file.Chmod(mode) // see Commit
	return nil
}

// setTime sets when what there is of f was changed, if it is known and can be.
func (f *File) setTime(at time.Time) {
	switch {
	case at.IsZero():
	case f.nameless:
		_ = os.Chtimes(f.reach(), time.Time{}, at) // see Commit
	default:
		f.dir.setTime(f.path+partSuffix, at)
	}
}

// trim makes the file size bytes long, which it can already be too long for
// but not too short.
func (f *File) trim(size int64) error {
	if size < 0 || f.id.Size >= 0 && size != f.id.Size {
		return fail("finish", f.path, fmt.Errorf("%w: %d of %d", ErrIncomplete, size, f.id.Size))
	}
	fi, err := f.file.Stat()
	if err != nil {
		return fail("finish", f.path, err)
	}
	if fi.Size() < size {
		return fail("finish", f.path, fmt.Errorf("%w: %d of %d are there", ErrIncomplete, fi.Size(), size))
	}
	if fi.Size() == size {
		return nil
	}
	return fail("truncate", f.path+partSuffix, f.file.Truncate(size))
}

// unreserve removes the empty file that an earlier run had put under a name, and says
// whether it did.
func (f *File) unreserve(name string) bool {
	fi, err := f.dir.lstat(name)
	return f.reserved && name == f.path && err == nil && fi.Mode().IsRegular() && fi.Size() == 0 && f.dir.remove(name) == nil
}

// rename moves part, of size bytes, to the name to, or, where nothing may be replaced,
// to the first free one. A name under which, in a rerun or with Continue, the same bytes
// are already is errTaken: two such runs at once leave one file, and so does a loss of
// power that kept both names of a rename.
func (f *File) rename(part, to string, size int64) (string, error) {
	if f.explicit || f.target.Replace && f.replaces {
		return to, fail("rename", to, f.dir.rename(part, to))
	}
	name := to
	for n := 1; ; n++ {
		err := f.moveTo(part, name)
		if err == nil {
			return name, nil
		}
		if !errors.Is(err, fs.ErrExist) || n > maxNumber {
			return "", fail("rename", name, err)
		}
		if n == 1 && f.unreserve(name) {
			if err = f.moveTo(part, name); err == nil {
				return name, nil
			}
		}
		if f.target.Rerun || f.target.Continue {
			if same, err := f.sameAs(name, size); same || err != nil {
				return name, cmp.Or(err, errTaken)
			}
		}
		name = numbered(to, n)
	}
}
