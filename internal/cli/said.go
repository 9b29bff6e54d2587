package cli

import (
	"errors"
	"net/url"

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

func (e jobError) Error() string { return term.Printable(shown(e.url)) + ": " + e.err.Error() }
func (e jobError) Unwrap() error { return e.err }

// shown is a URL as it stands in a message: without user and password, and
// without the query, which may be a secret too, and may be very long.
func shown(u *url.URL) string {
	short := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if text := short.String(); len(text) <= maxShown {
		return text
	}
	return short.String()[:maxShown] + "..."
}

// maxShown is how many bytes of a URL a message holds.
const maxShown = 200
