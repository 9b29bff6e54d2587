package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlget/mlget/pkg/scheduler"
)

// beside are the endings of what other programs keep beside a file while it is incomplete:
// aria2, axel, lftp's pget, Chromium, Opera, Safari, Free Download Manager, WinSCP, yt-dlp,
// Xunlei, FlashGet, saldl, each as its manual or its source calls it. The .part of Firefox
// and others is ErrForeign.
func beside() []string {
	return []string{
		".aria2", ".aria2__temp", ".st", ".lftp-pget-status", ".crdownload", ".opdownload", ".download",
		".fdmdownload", ".filepart", ".ytdl", ".td.cfg", ".xltd", ".jc!", ".ctrl.sal",
	}
}

// unfinished fails, with ErrUnfinished, if file, which is called path, is not all there: its
// program's control file is beside it, or there are bytes in it that were never written.
func (d *directory) unfinished(path string, file *os.File) error {
	i := slices.IndexFunc(beside(), func(ending string) bool {
		_, err := d.lstat(path + ending)
		return err == nil
	})
	if i >= 0 {
		return fmt.Errorf("%w: %s is there", ErrUnfinished, filepath.Base(path)+beside()[i])
	}
	fi, err := file.Stat()
	if err != nil {
		return err
	}
	if at, found := firstHole(file, []scheduler.Range{{End: fi.Size()}}); found {
		return fmt.Errorf("%w: nothing was written at %d of %d bytes", ErrUnfinished, at, fi.Size())
	}
	return nil
}

// complete says whether the plain file called name is not unfinished. One that is, is the
// reason for a notice.
func (f *File) complete(name string) bool {
	r, err := f.openThere(name)
	if err != nil {
		return true // reading its bytes will give the error
	}
	defer r.Close() //nolint:errcheck // it was only looked at
	err = f.dir.unfinished(name, r)
	if errors.Is(err, ErrUnfinished) && !f.target.Continue {
		f.notice = fmt.Sprintf("%s is left alone, and another name is used: %v", name, err)
	}
	return !errors.Is(err, ErrUnfinished)
}
