//go:build !linux

package fetch

import "syscall"

// canMark: the BSDs' kqueue takes a mark of a socket too, but lowering it does not wake the
// reader; other systems have none.
const canMark = false

func setReadMark(uintptr, int) error { return nil }

func keptBack(syscall.RawConn) int64 { return 0 }

func acknowledge(uintptr) {}

// queued is not needed on other systems.
func queued(uintptr) int64 { return 0 }

type pollSet struct{}

func (pollSet) marked(uintptr) bool { return true }
