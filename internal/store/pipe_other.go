//go:build !linux

package store

import (
	"errors"
	"os"
	"syscall"
)

// pipe is nothing here: only Linux has splice.
type pipe struct{}

// NewMover fails: this system cannot move.
func NewMover() (*Mover, error) { return nil, errors.ErrUnsupported }

func (*pipe) works() bool                                { return false }
func (*pipe) close() error                               { return nil }
func (*pipe) take(syscall.RawConn, int64) (int64, error) { return 0, errors.ErrUnsupported }

func (*pipe) give(*os.File, *brief, int64, int64) (int64, error) { return 0, errors.ErrUnsupported }
