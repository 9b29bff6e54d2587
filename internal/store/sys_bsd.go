//go:build unix && !linux && !darwin

package store

import "os"

// preallocate does nothing: posix_fallocate would change the file's length,
// which tells how far bytes were written.
func preallocate(*os.File, int64) error { return nil }

// syncData makes f's bytes durable.
func syncData(f *os.File) error { return f.Sync() }

// inOrder: these systems do not promise that earlier changes are durable first.
func inOrder(string) bool { return false }

// renameNoReplace moves from to a name that must be free.
func (d *directory) renameNoReplace(from, to string) error { return d.linkNoReplace(from, to) }

// largeFile is of Linux alone.
const largeFile = 0
