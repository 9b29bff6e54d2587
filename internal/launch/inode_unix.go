//go:build unix

package launch

import (
	"io/fs"
	"syscall"
)

func inodeOf(info fs.FileInfo) (inode uint64, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(stat.Ino), true //nolint:unconvert // 32 bits on some systems
}
