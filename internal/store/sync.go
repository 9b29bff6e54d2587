package store

import (
	"os"
	"sync"
)

// syncAtOnce is how many files are synced at the same time, where each has to be
// synced by itself: enough for a file system to put several into one of its
// transactions.
const syncAtOnce = 8

// syncFiles makes the files' bytes, lengths and times durable, and returns an error for each.
func syncFiles(files []*os.File) []error {
	errs := make([]error, len(files))
	if len(files) > 1 && syncTogether(files, errs) {
		return errs
	}
	syncEach(files, errs)
	return errs
}

// syncEach syncs file by file, skipping those with an error.
func syncEach(files []*os.File, errs []error) {
	if len(files) == 1 {
		errs[0] = files[0].Sync()
		return
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(syncAtOnce, len(files)) {
		workers.Go(func() {
			for i := range next {
				errs[i] = files[i].Sync()
			}
		})
	}
	for i := range files {
		if errs[i] == nil {
			next <- i
		}
	}
	close(next)
	workers.Wait()
}
