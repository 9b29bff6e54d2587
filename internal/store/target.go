package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Target is where a download is to go.
type Target struct {
	Dir  string // created with its parents if missing; "": the working directory
	Name string // "": the URL's; relative to Dir unless Explicit and absolute
	// Explicit: the user named the file (-o). It is replaced if it exists, as
	// curl does, and Name may lead to other directories, which must exist. A
	// symbolic link is replaced, not followed. Otherwise nothing is ever
	// replaced: NAME.1, NAME.2... is used, and Name is made safe as in
	// NameFromURL.
	Explicit bool
	// Continue: the user asked to continue an existing file (-c): a NAME that another tool
	// left, or a .part that was begun from another URL. Begin renames such a NAME to NAME.part,
	// and from then on only Commit or the user ends it.
	Continue bool
	// Sub is a directory below Dir, slash-separated, from outside: a server's index or a list.
	// It is cleaned as names are, created with its parents, and never leads out of Dir, not by
	// symbolic links either.
	Sub string
	// Served: when complete, the file gets the name that its server proposes
	// (Content-Disposition), if any: its last element, made safe as in NameFromURL. Until then
	// the file has its other name, under which the same command finds it again.
	Served bool
	// Rerun: the file may be there from an earlier run of the same job. A NAME
	// that exists is not passed over before it is known whether it is the object;
	// see File.Standing.
	Rerun bool
	// Late, with Rerun, leaves it to Commit: all is fetched, under another name, and
	// dropped if a file that is there has the same bytes.
	Late bool
	// Replace: a NAME that is a regular file is replaced by the object, without being the
	// user's own word as Explicit is.
	Replace bool
	// OwnTime: the file's time of change is that of the download, and not its server's.
	OwnTime bool
	// Run is shared by the files of this run, none of which is taken for another's, or
	// continued. Its directory is Dir. nil: there are no others.
	Run *Run
}

// errTaken: this name is not ours to use, the next one may be.
var errTaken = errors.New("name taken")

// Open finds a name for what u leads to, checks that it can be written, locks
// it and loads what an earlier run left. It destroys nothing and renames
// nothing; if no Begin follows, Close leaves things as they were.
//
// The name is the first of NAME, NAME.1, NAME.2... that does not exist and
// whose .part does not exist either or is an unfinished download of the same
// URL, which is then resumed. The same URL being downloaded to it right now is
// ErrBusy. Explicit and Continue settle for NAME.
func Open(t Target, u *url.URL) (*File, error) {
	if n := len(t.Name); t.Explicit && n > 0 && os.IsPathSeparator(t.Name[n-1]) {
		return nil, fail("open", t.Name, ErrDirectory)
	}
	if t.Dir != "" && t.Run == nil {
		if err := makeDirectory(t.Dir); err != nil {
			return nil, err
		}
	}
	f := &File{from: originOf(u), explicit: t.Explicit, target: t, first: t.Path(u)}
	switch {
	case !t.Explicit:
	case isStream(f.first):
		return nil, fail("open", f.first, ErrStream)
	case runtime.GOOS == "windows" && reservedOnWindows(filepath.Base(f.first)):
		return nil, fail("open", f.first, ErrReserved)
	}
	if t.Explicit {
		if at, err := os.Stat(f.first); err == nil && at.IsDir() {
			return nil, fail("open", f.first, ErrDirectory)
		}
	}
	var err error
	if f.dir, err = t.directory(f.first); err != nil {
		return nil, err
	}
	if t.Rerun && f.look() && !t.Late {
		return f, nil
	}
	if err := f.find(); err != nil {
		f.leave()
		return nil, err
	}
	return f, nil
}

// find opens the first name that will do, from f.first on.
func (f *File) find() error {
	for n := range maxNumber + 1 {
		f.path, f.mode, f.replaces, f.file = numbered(f.first, n), 0, false, nil
		f.closed, f.keep, f.fresh, f.nameless, f.relic, f.reserved = false, false, false, false, false, false
		if err := f.open(f.target); !errors.Is(err, errTaken) {
			return err
		}
	}
	return fail("open", f.first, fmt.Errorf("%w, and so are %d numbered ones", fs.ErrExist, maxNumber))
}

// directory opens the directory of the file, whose first name is path. Sub is made if it is
// missing.
func (t Target) directory(path string) (*directory, error) {
	sub := cleanSub(t.Sub, t.Run.fatRules())
	if t.Run != nil {
		return t.Run.directory(sub)
	}
	dir := t.Dir
	if t.Explicit {
		dir, _ = filepath.Split(path)
	}
	d, err := openDirectory(cmp.Or(dir, "."))
	if err != nil || t.Explicit || sub == "" {
		return d, fail("open", path+partSuffix, err)
	}
	defer d.release()
	below, err := d.below(sub)
	return below, fail("create directory", filepath.Join(t.Dir, sub), err)
}

// makeDirectory makes a directory, with its parents, that is missing.
func makeDirectory(path string) error {
	if runtime.GOOS == "windows" {
		for e := range strings.FieldsFuncSeq(path[len(filepath.VolumeName(path)):], isSeparator) {
			if e != "." && e != ".." && reservedOnWindows(e) {
				return fail("create directory", path, ErrReserved)
			}
		}
	}
	made := lacking(path)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fail("create directory", path, err)
	}
	return syncParents(made)
}

func isSeparator(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) }

// lacking are those of dir and the directories above it that are not there, the
// innermost first.
func lacking(dir string) (dirs []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return dirs
		}
		dirs = append(dirs, dir)
		parent := filepath.Dir(dir)
		if parent == dir {
			return dirs
		}
		dir = parent
	}
}

// syncParents makes the names of directories durable that were made. Where all is
// durable in the order in which it was done, what is put into them sees to that.
func syncParents(made []string) error {
	for _, dir := range made {
		if parent := filepath.Dir(dir); !inOrder(parent) {
			if err := syncDir(parent); err != nil {
				return fail("sync", parent, err)
			}
		}
	}
	return nil
}

// OpenStream opens a target that can only be written in order: a device or a
// pipe that the user named, /dev/stdout among them. ok is false, with no
// error, if t is not of that kind: then Open is the way. Opening a named pipe
// waits for its reader, until ctx ends.
func OpenStream(ctx context.Context, t Target) (w *os.File, ok bool, err error) {
	if !t.Explicit || t.Name == "" {
		return nil, false, nil
	}
	path := t.Path(&url.URL{})
	if !isStream(path) {
		return nil, false, nil
	}
	flags := os.O_WRONLY
	if fi, err := os.Stat(path); err == nil && fi.Mode().IsRegular() {
		flags |= os.O_APPEND // /dev/stdout sent to a file, perhaps with >>
	}
	w, err = OpenWaiting(ctx, path, flags)
	return w, true, fail("open", path, err)
}

// Path is the first name that Open tries for u, which it gets if it is free.
func (t Target) Path(u *url.URL) string {
	if t.Explicit && t.Name != "" {
		return t.named()
	}
	var name string
	fat := t.Run.fatRules()
	if t.Name == "" {
		name = nameFromURL(u, fat)
	} else {
		name = cleanName(t.Name, fat)
	}
	if isPart(name) {
		name += "_" // it would be taken for another download's part
	}
	return filepath.Join(t.Dir, cleanSub(t.Sub, fat), name)
}

// named is where an explicit Name leads. Behind a symbolic link ".." does not lead back,
// except on Windows, where the system, too, cleans a name before it follows it.
func (t Target) named() string {
	path := t.Name
	if !isRooted(path) && t.Dir != "" {
		path = t.Dir + string(filepath.Separator) + path
	}
	if i := strings.LastIndex("/"+path, "/../"); i >= 0 && runtime.GOOS != "windows" {
		above, err := filepath.EvalSymlinks(path[:i+len("..")])
		if err != nil {
			return path // opening it says what is missing
		}
		return filepath.Join(above, path[i+len(".."):])
	}
	if isRooted(t.Name) {
		return t.Name
	}
	return filepath.Join(t.Dir, t.Name)
}

// isRooted says whether path does not begin in the working directory. On Windows \x and C:x
// are no absolute paths, and yet have no place below another.
func isRooted(path string) bool {
	return filepath.VolumeName(path) != "" || path != "" && os.IsPathSeparator(path[0])
}

// served is the final name of a complete file that was path until now and that its server calls
// name. It never looks like the part or the journal of another download, which would continue
// with bytes that this server chose.
func (t Target) served(path, name string) string {
	name = name[strings.LastIndexAny(name, `/\\`)+1:]
	if !t.Served || name == "" {
		return path
	}
	t.Name = name
	return t.Path(nil)
}

// isPart says whether a file of that name would be taken for what there is of an
// unfinished one, also by a file system that folds names: Apple's, ext4 and F2FS take no
// notice of characters that are not seen, and the long s is an s to them.
func isPart(name string) bool {
	name = strings.Map(func(r rune) rune {
		const longS = '\u017f'
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		case r == longS:
			return 's'
		}
		return unicode.ToLower(r)
	}, name)
	return strings.HasSuffix(name, partSuffix) || strings.HasSuffix(name, journalSuffix) || strings.HasSuffix(name, newSuffix)
}

// begunAs fails, with ErrBegun, if NAME, which the user named, is the .part or the journal of
// another download that can be continued: that one would continue with bytes that this server
// chose.
func (f *File) begunAs() error {
	named, err := f.dir.lstat(f.path)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	for _, suffix := range []string{partSuffix, journalSuffix} {
		if len(f.path) <= len(suffix) {
			continue
		}
		stem := f.path[:len(f.path)-len(suffix)]
		if there, err := f.dir.lstat(stem + suffix); err != nil || !os.SameFile(there, named) {
			continue
		}
		if _, b, err := f.dir.readOurs(stem + journalSuffix); err == nil && isJournal(b) {
			return fail("replace", f.path, fmt.Errorf("%w of %s", ErrBegun, filepath.Base(stem)))
		}
	}
	return nil
}

// posesAsJournal fails, with ErrPoses, if a complete file of size bytes that is to be called
// to would be believed as the journal of another download. Only a name that the user gave can be such.
func (f *File) posesAsJournal(to string, size int64) error {
	if !f.explicit || size > maxJournal || !isPart(filepath.Base(to)) {
		return nil
	}
	b := make([]byte, size)
	n, err := f.file.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fail("read", f.path+partSuffix, err)
	}
	if !isJournal(b[:n]) {
		return nil
	}
	return fail("save", to, ErrPoses)
}

// onAndroid finds Android at run time too: on 32-bit phones the program is a
// static linux/arm one.
func onAndroid() bool {
	if runtime.GOOS == "android" {
		return true
	}
	_, err := os.Stat("/dev/__properties__")
	return err == nil
}

// numbered is the n-th name to try instead of path, which is the 0th.
func numbered(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

// isStream says whether path leads to a device or a pipe, or is one of the
// links by which the system names open files: replacing those would be absurd.
func isStream(path string) bool {
	fi, err := os.Stat(path)
	if err != nil || fi.IsDir() {
		return false
	}
	if !fi.Mode().IsRegular() {
		return true
	}
	fi, err = os.Lstat(path)
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	return err == nil && (dir == "/dev" || strings.HasPrefix(dir, "/proc/")) // users have links of their own in /dev/shm
}
