//go:build !linux || !amd64

package crashtest

import (
	"context"
	"errors"
)

// ErrUnable says that nothing can be recorded here: this system is not Linux on amd64.
var ErrUnable = errors.New("system calls cannot be recorded here")

// Record fails with ErrUnable.
func Record(context.Context, Program) (*Log, *Ended, error) {
	return nil, nil, ErrUnable
}
