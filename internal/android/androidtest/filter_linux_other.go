//go:build linux && !amd64

package androidtest

import "errors"

// ErrNoFilter says that the filter is not known for this machine.
var ErrNoFilter = errors.New("the filter of system calls is known for x86_64 only")

// Confine would put this thread under Android's filter.
func Confine(int) error { return ErrNoFilter }

// ConfineTo would put this thread under the eyes of a SELinux.
func ConfineTo(int) error { return ErrNoFilter }
