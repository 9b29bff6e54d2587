//go:build !windows

package fetch

import (
	"errors"
	"syscall"
)

// isRefused reports whether the peer answered that nobody listens.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// isReset reports whether the peer has ended the connection without a goodbye.
func isReset(err error) bool { return errors.Is(err, syscall.ECONNRESET) }
