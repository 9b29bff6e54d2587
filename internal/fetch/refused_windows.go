package fetch

import (
	"errors"
	"syscall"
)

// isRefused reports whether the peer answered that nobody listens. Windows says
// so with WSAECONNREFUSED, which is not syscall.ECONNREFUSED there.
func isRefused(err error) bool {
	const wsaeconnrefused = syscall.Errno(10061)
	return errors.Is(err, wsaeconnrefused)
}

// isReset reports whether the peer has ended the connection without a goodbye.
func isReset(err error) bool { return errors.Is(err, syscall.WSAECONNRESET) }
