package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncTogether makes files of one file system durable by syncing all of it: one transaction and
// one flush of the device's cache instead of one for each file. It says whether it did. First
// each file's bytes are written and waited for, which shows the file's own errors; kernels
// before 5.8 report none by syncfs.
func syncTogether(files []*os.File, errs []error) bool {
	if onAndroid() || !oneFileSystem(files) {
		return false
	}
	const write = unix.SYNC_FILE_RANGE_WRITE
	const wait = unix.SYNC_FILE_RANGE_WAIT_BEFORE | write | unix.SYNC_FILE_RANGE_WAIT_AFTER
	for _, f := range files {
		if writeBack(f, write) != nil {
			return false
		}
	}
	for i, f := range files {
		errs[i] = writeBack(f, wait)
	}
	for {
		err := unix.Syncfs(int(files[0].Fd()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil // else it is for each file's own sync to say
		}
	}
}

func writeBack(f *os.File, how int) error {
	for {
		err := unix.SyncFileRange(int(f.Fd()), 0, 0, how)
		if !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("sync_file_range", err)
		}
	}
}

// oneFileSystem says whether all files are in one file system, of a kind that is
// known to sync as a whole what its syncfs says it does. Those of user space and
// of the network need not; and Android kills older programs for asking.
func oneFileSystem(files []*os.File) bool {
	var first, st unix.Stat_t
	for i, f := range files {
		if unix.Fstat(int(f.Fd()), &st) != nil {
			return false
		}
		if i == 0 {
			first = st
		}
		if st.Dev != first.Dev {
			return false
		}
	}
	var fs unix.Statfs_t
	if unix.Fstatfs(int(files[0].Fd()), &fs) != nil {
		return false
	}
	switch uint32(fs.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}
