package crashtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// call is one that may change what is below root.
type call struct {
	nr    uint64
	args  [6]uint64
	begun int
	paths [2]string // absolute; "": none
	off   int64     // of a splice: where it writes; -1: at the file's own place
	mark  string
}

// enter reads what the call's arguments point to, and says whether it matters.
func (c *call) enter(r *recorder, tid int) (bool, error) {
	var err error
	path := func(dir int32, at uint64) string {
		if err != nil {
			return ""
		}
		var p string
		p, err = r.path(tid, dir, at)
		return p
	}
	switch c.nr {
	case unix.SYS_NEWFSTATAT:
		name := path(int32(c.args[0]), c.args[1])
		words, ok := strings.CutPrefix(name, MarkPath)
		c.mark = words
		return ok, err
	case unix.SYS_OPENAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT:
		c.paths[0] = path(int32(c.args[0]), c.args[1])
	case unix.SYS_OPEN, unix.SYS_UNLINK, unix.SYS_RMDIR, unix.SYS_MKDIR, unix.SYS_TRUNCATE, unix.SYS_CREAT:
		c.paths[0] = path(unix.AT_FDCWD, c.args[0])
	case unix.SYS_RENAME, unix.SYS_LINK:
		c.paths[0], c.paths[1] = path(unix.AT_FDCWD, c.args[0]), path(unix.AT_FDCWD, c.args[1])
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		c.paths[0], c.paths[1] = path(int32(c.args[0]), c.args[1]), path(int32(c.args[2]), c.args[3])
	case unix.SYS_CLOSE: // its number may be a socket's before the call is known to have ended
		delete(r.fds, int(int32(c.args[0])))
		return false, nil
	case unix.SYS_SPLICE:
		if _, ours := r.fds[int(int32(c.args[2]))]; !ours {
			return false, nil
		}
		if c.off = -1; c.args[3] != 0 {
			var b [8]byte
			if _, err := unix.PtracePeekData(tid, uintptr(c.args[3]), b[:]); err != nil {
				return false, err
			}
			c.off = int64(binary.LittleEndian.Uint64(b[:]))
		}
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_WRITEV, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_FTRUNCATE,
		unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE, unix.SYS_SENDFILE:
		_, ours := r.fds[int(int32(c.args[0]))]
		return ours, nil
	case unix.SYS_COPY_FILE_RANGE:
		_, ours := r.fds[int(int32(c.args[2]))]
		return ours, nil
	default:
		return false, nil
	}
	return true, err
}

// path is the path that a call's argument names.
func (r *recorder) path(tid int, dir int32, at uint64) (string, error) {
	var name []byte
	for b := make([]byte, 64); ; at += uint64(len(b)) {
		n, err := unix.PtracePeekData(tid, uintptr(at), b)
		if end := bytes.IndexByte(b[:n], 0); end >= 0 {
			name = append(name, b[:end]...)
			break
		}
		if err != nil {
			return "", fmt.Errorf("a path of %d: %w", tid, err)
		}
		if name = append(name, b[:n]...); len(name) > unix.PathMax {
			return "", nil
		}
	}
	path := string(name)
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	link := fmt.Sprintf("/proc/%d/cwd", r.pid)
	if dir != unix.AT_FDCWD {
		link = fmt.Sprintf("/proc/%d/fd/%d", r.pid, dir)
	}
	base, err := os.Readlink(link)
	if err != nil {
		return "", nil //nolint:nilerr // the call will fail as well
	}
	return filepath.Join(base, path), nil
}

// inside gives a path's name below root.
func (r *recorder) inside(path string) (string, bool) {
	if path == r.root {
		return ".", true
	}
	return strings.CutPrefix(path, r.root+"/")
}

// leave records a call that has succeeded with that result.
func (c *call) leave(r *recorder, result int64) error {
	if c.mark != "" {
		r.add(c, Op{Kind: Mark, Name: c.mark})
		return nil
	}
	name, in := r.inside(c.paths[0])
	fd := int(int32(c.args[0]))
	obj := r.fds[fd]
	switch c.nr {
	case unix.SYS_OPENAT:
		return c.opened(r, name, in, c.args[2], int(result))
	case unix.SYS_OPEN:
		return c.opened(r, name, in, c.args[1], int(result))
	case unix.SYS_MKDIRAT, unix.SYS_MKDIR:
		if in {
			made := r.log.object()
			r.log.isDir[made] = true
			r.names[name] = made
			r.add(c, Op{Kind: Enter, Obj: made, Name: name})
		}
	case unix.SYS_UNLINKAT, unix.SYS_UNLINK, unix.SYS_RMDIR:
		if in {
			r.add(c, Op{Kind: Leave, Obj: r.names[name], Name: name})
			delete(r.names, name)
		}
	case unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2:
		to, toIn := r.inside(c.paths[1])
		if in != toIn || in && c.nr == unix.SYS_RENAMEAT2 && c.args[4]&unix.RENAME_EXCHANGE != 0 {
			return c.unknown()
		}
		if in {
			o := Op{Kind: Rename, Obj: r.names[name], From: name, Name: to}
			r.names[to] = o.Obj
			delete(r.names, name)
			r.add(c, o)
		}
	case unix.SYS_LINK, unix.SYS_LINKAT:
		return c.linked(r)
	case unix.SYS_WRITE:
		pos, err := r.position(fd)
		if err != nil {
			return err
		}
		return c.wrote(r, fd, pos-result, result)
	case unix.SYS_PWRITE64:
		return c.wrote(r, fd, int64(c.args[3]), result)
	case unix.SYS_SPLICE:
		if c.off < 0 {
			return c.unknown()
		}
		return c.wrote(r, int(int32(c.args[2])), c.off, result)
	case unix.SYS_FTRUNCATE:
		r.add(c, Op{Kind: Truncate, Obj: obj, Off: int64(c.args[1])})
	case unix.SYS_FALLOCATE:
		if c.args[1] != unix.FALLOC_FL_KEEP_SIZE {
			return c.unknown()
		}
	case unix.SYS_SYNC_FILE_RANGE: // promises nothing
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		r.add(c, Op{Kind: Sync, Obj: obj})
	case unix.SYS_SYNCFS:
		r.add(c, Op{Kind: SyncAll})
	case unix.SYS_TRUNCATE, unix.SYS_CREAT:
		if in {
			return c.unknown()
		}
	default:
		return c.unknown()
	}
	return nil
}

// unknown: the record would be wrong, so it is none.
func (c *call) unknown() error {
	return fmt.Errorf("system call %d (%q, %x) is not known to crashtest", c.nr, c.paths, c.args)
}

func (c *call) opened(r *recorder, name string, in bool, flags uint64, fd int) error {
	delete(r.fds, fd)
	if !in {
		return nil
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		r.fds[fd] = r.log.object()
		return nil
	}
	obj, there := r.names[name]
	if !there {
		if flags&unix.O_CREAT == 0 {
			return fmt.Errorf("%s was opened, and nobody has made it", name)
		}
		obj = r.log.object()
		r.names[name] = obj
		r.add(c, Op{Kind: Enter, Obj: obj, Name: name})
	} else if flags&unix.O_TRUNC != 0 {
		r.add(c, Op{Kind: Truncate, Obj: obj})
	}
	r.fds[fd] = obj
	return nil
}

func (c *call) linked(r *recorder) error {
	to, in := r.inside(c.paths[1])
	if !in {
		return nil
	}
	from, in := r.inside(c.paths[0])
	obj, ok := r.names[from]
	if !in {
		n, err := strconv.Atoi(strings.TrimPrefix(c.paths[0], "/proc/self/fd/"))
		if err != nil {
			return c.unknown()
		}
		obj, ok = r.fds[n]
	}
	if !ok {
		return c.unknown()
	}
	r.names[to] = obj
	r.add(c, Op{Kind: Enter, Obj: obj, Name: to})
	return nil
}

// wrote records n bytes at off of the file open as fd. They are read back from the file, since
// the arguments of a splice do not contain them.
func (c *call) wrote(r *recorder, fd int, off, n int64) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/fd/%d", r.pid, fd))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data := make([]byte, n)
	if _, err := f.ReadAt(data, off); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.add(c, Op{Kind: Write, Obj: r.fds[fd], Off: off, Data: data})
	return nil
}

// position is where the file open as fd is written next.
func (r *recorder) position(fd int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", r.pid, fd))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b))
	if len(fields) < 2 || fields[0] != "pos:" {
		return 0, fmt.Errorf("fdinfo says %q", b)
	}
	return strconv.ParseInt(fields[1], 10, 64)
}
