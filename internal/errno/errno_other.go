//go:build !windows

package errno

import "syscall"

// What connecting and reading return.
const (
	ConnRefused    = syscall.ECONNREFUSED
	ConnReset      = syscall.ECONNRESET
	NetUnreachable = syscall.ENETUNREACH
)

func resets() []syscall.Errno { return []syscall.Errno{ConnReset} }

func unreachables() []syscall.Errno { return []syscall.Errno{NetUnreachable, syscall.EHOSTUNREACH} }

func scarcities() []syscall.Errno { return []syscall.Errno{syscall.EMFILE, syscall.ENFILE} }
