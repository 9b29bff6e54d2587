package aria2c

import (
	"context"
	"errors"
	"net/http"
	"syscall"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/store"
)

// aria2's exit codes, and those of its downloads (its manual, EXIT STATUS).
const (
	OK       = 0
	Unknown  = 1
	Timeout  = 2
	NotFound = 3
	Network  = 6
	InUse    = 7
	NoResume = 8
	NoSpace  = 9
	Exists   = 13
	File     = 17
	Name     = 19
	Protocol = 22
	Auth     = 24
	Option   = 28
	Overload = 29
	Checksum = 32
)

// Code is aria2's exit code for an error, and whether the network was at fault.
func Code(err error) (code int, network bool) {
	var web *fetch.Error
	switch {
	case errors.Is(err, ErrExists):
		return Exists, false
	case errors.Is(err, engine.ErrChecksum):
		return Checksum, false
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return NoSpace, false
	case errors.Is(err, store.ErrBusy):
		return InUse, false
	case errors.Is(err, engine.ErrChanged), errors.Is(err, engine.ErrLonger):
		return NoResume, false
	case errors.Is(err, link.ErrNoLink), errors.Is(err, link.ErrBind):
		return Network, true
	case errors.Is(err, engine.ErrInterrupted):
		return InUse, false
	case errors.As(err, new(exit.UsageError)):
		return Option, false
	case errors.As(err, new(*store.Error)), errors.As(err, new(exit.FileError)):
		return File, false
	case errors.As(err, &web):
		return webCode(web)
	}
	return Unknown, false
}

func webCode(err *fetch.Error) (code int, network bool) {
	switch {
	case errors.Is(err, fetch.ErrStalled), errors.Is(err, context.DeadlineExceeded):
		return Timeout, true
	case err.Class == fetch.Network:
		return Network, true
	case err.Class == fetch.Refused:
		return Unknown, true // as aria2 has it
	case err.Class == fetch.DNS:
		return Name, false
	case err.Class == fetch.Auth:
		return Auth, false
	case err.Status == http.StatusNotFound, err.Status == http.StatusGone:
		return NotFound, false
	case err.Status == http.StatusServiceUnavailable:
		return Overload, false
	case err.Class == fetch.TLS:
		return Unknown, false
	}
	return Protocol, false
}
