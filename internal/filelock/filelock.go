// Package filelock keeps processes from working on the same file at once.
//
// Contract: a file that was taken is closed with Close, or ends with its process. Take
// waits for nobody. File systems without locks (some FUSE and NFS mounts) are used
// without.
package filelock

import "errors"

// ErrBusy says that another has the file: another process, or this one by another
// descriptor.
var ErrBusy = errors.New("another mlget is at work on it")
