//go:build unix

package engine

import "syscall"

// openMost is how many files a batch may hold open at once: a quarter of what the
// process may have, as connections and those who verify files need theirs.
func openMost() int {
	var most syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most); err != nil {
		return maxOpen
	}
	if soft := uint64(most.Cur); soft < 4*maxOpen { //nolint:unconvert // it is signed on some systems
		return max(1, int(soft/4))
	}
	return maxOpen
}
