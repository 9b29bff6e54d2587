// Package errno tells the errors of sockets apart, which Windows numbers as Winsock does:
// there syscall.ECONNREFUSED and its like are invented numbers that no call returns.
package errno

import (
	"errors"
	"slices"
	"syscall"
)

// IsRefused says whether the peer answered that nobody listens.
func IsRefused(err error) bool { return errors.Is(err, ConnRefused) }

// IsReset says whether the peer ended the connection without a goodbye.
func IsReset(err error) bool { return isOf(err, resets()) }

// IsUnreachable says whether no way leads to the peer.
func IsUnreachable(err error) bool { return isOf(err, unreachables()) }

// IsScarce says whether an error is about descriptors or sockets, which other files and
// connections give back when they end.
func IsScarce(err error) bool { return isOf(err, scarcities()) }

func isOf(err error, numbers []syscall.Errno) bool {
	return slices.ContainsFunc(numbers, func(no syscall.Errno) bool { return errors.Is(err, no) })
}
