//go:build !linux

package fetch

import "syscall"

// canMark: the BSDs' kqueue takes a socket's own mark too, but who lowers it is
// not woken; elsewhere there is none.
const canMark = false

func setReadMark(uintptr, int) error { return nil }

func keptBack(syscall.RawConn) int64 { return 0 }

func acknowledge(uintptr) {}

// queued: nobody has needed it elsewhere yet.
func queued(uintptr) int64 { return 0 }

type pollSet struct{}

func (pollSet) marked(uintptr) bool { return true }
