package get

import (
	"errors"
	"net/url"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/term"
)

// isWeb says whether an error is about the URL rather than about this machine.
func isWeb(err error) bool {
	var web *fetch.Error
	return errors.As(err, &web)
}

// jobError is the error of one file of several.
type jobError struct {
	url *url.URL
	err error
}

func (e jobError) Error() string { return term.Printable(flags.Shown(e.url)) + ": " + e.err.Error() }
func (e jobError) Unwrap() error { return e.err }
