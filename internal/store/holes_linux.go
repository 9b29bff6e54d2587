package store

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/pkg/scheduler"
)

// firstHole looks for bytes in ranges that f has no room for on disk. Only file systems
// are asked that never make a hole of zeros that were written.
func firstHole(f *os.File, ranges []scheduler.Range) (at int64, found bool) {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &fs) != nil {
		return 0, false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
	default:
		return 0, false
	}
	for _, r := range ranges {
		// Nothing reads or writes at the file's own position.
		if at, err := unix.Seek(int(f.Fd()), r.Off, unix.SEEK_HOLE); err == nil && at < r.End {
			return at, true
		}
	}
	return 0, false
}
