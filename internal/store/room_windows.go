package store

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// freeBytes is how much this user may still write to the volume of dir, quotas included.
func freeBytes(_ *os.File, dir string) (free int64, known bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var n uint64
	if windows.GetDiskFreeSpaceEx(name, &n, nil, nil) != nil {
		return 0, false
	}
	return blocks(int64(n&(1<<63-1)), 1), true
}

// allocated is how many bytes a file takes on disk: mlget's are not sparse here.
func allocated(fi fs.FileInfo) int64 { return fi.Size() }
