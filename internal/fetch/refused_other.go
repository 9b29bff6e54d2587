//go:build !windows

package fetch

import (
	"errors"
	"syscall"
)

// isRefused reports whether the peer answered that nobody listens.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
