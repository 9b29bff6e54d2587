//go:build !windows

package proxy

import "syscall"

// What a peer answers.
const (
	connRefused = syscall.ECONNREFUSED
	connReset   = syscall.ECONNRESET
)
