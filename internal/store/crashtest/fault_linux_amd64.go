package crashtest

import "golang.org/x/sys/unix"

// fails says whether a call, which is about to be made, is to fail.
func (r *recorder) fails(c *call) bool {
	if r.fault.Errno == 0 || c.mark != "" {
		return false
	}
	grows, changes, syncs := r.effect(c)
	hit := false
	switch r.fault.Calls {
	case Growing:
		hit = grows
	case Changing:
		hit = grows || changes
	case Syncing:
		hit = syncs
	}
	if !hit {
		return false
	}
	if r.fault.After > 0 {
		r.fault.After--
		return false
	}
	r.failed++
	return true
}

// effect says what a call would do below root: make it larger, change it otherwise,
// or make changes durable.
func (r *recorder) effect(c *call) (grows, changes, syncs bool) {
	name, in := r.inside(c.paths[0])
	_, there := r.names[name]
	switch c.nr {
	case unix.SYS_OPENAT, unix.SYS_OPEN:
		flags := c.args[2]
		if c.nr == unix.SYS_OPEN {
			flags = c.args[1]
		}
		grows = in && (flags&unix.O_CREAT != 0 && !there || flags&unix.O_TMPFILE == unix.O_TMPFILE)
		return grows, in && flags&(unix.O_WRONLY|unix.O_RDWR) != 0, false
	case unix.SYS_MKDIR, unix.SYS_MKDIRAT:
		return in, false, false
	case unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINK, unix.SYS_LINKAT:
		_, in = r.inside(c.paths[1])
		return in, false, false
	case unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RMDIR:
		return false, in, false
	case unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_SPLICE, unix.SYS_FALLOCATE:
		return true, false, false
	case unix.SYS_FTRUNCATE:
		return false, true, false
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE:
		return false, false, true
	}
	return false, false, false
}
