//go:build linux || darwin || freebsd

package store

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// freeBytes is how much this user may still write to the file system that file is in.
// Root may use what is set aside for it.
func freeBytes(file *os.File, _ string) (free int64, known bool) {
	var s unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &s) != nil || s.Blocks == 0 { // some, such as a tmpfs, have no bound
		return 0, false
	}
	n := int64(s.Bavail) //nolint:unconvert,gosec // it has another type elsewhere
	if os.Geteuid() == 0 {
		n = int64(s.Bfree) //nolint:gosec // no disk has that many
	}
	return blocks(n, int64(s.Bsize)), true //nolint:unconvert,gosec // it has another type elsewhere
}

// allocated is how many bytes a file takes on disk.
func allocated(fi fs.FileInfo) int64 {
	const unit = 512 // stat(2)
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return blocks(int64(st.Blocks), unit) //nolint:unconvert // it has another type elsewhere
}
