package cli

import (
	"errors"
	"io"
	"net/url"
	"slices"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/term"
)

// isWeb says whether an error is about the URL rather than about this machine.
func isWeb(err error) bool {
	var web *fetch.Error
	return errors.As(err, &web)
}

// firstOf is the error of the run: that of the first URL that failed, but for an
// interruption, which ends all of them.
func firstOf(results []error) error {
	var first error
	for _, err := range results {
		if errors.Is(err, engine.ErrInterrupted) {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// saidIfSeveral prints each file's error behind its URL, and once what ended the
// whole run; no hint comes twice.
func saidIfSeveral(w io.Writer, jobs []*engine.Job, results []error, err error) error {
	var ended error
	var hints []string
	say := func(err error) {
		_, hint := classify(err)
		if slices.Contains(hints, hint) {
			hint = ""
		}
		hints = append(hints, hint)
		printError(w, err, hint)
	}
	for i, r := range results {
		switch {
		case r == nil:
		case errors.Is(r, engine.ErrInterrupted), errors.Is(r, errMaxTime):
			ended = r
		default:
			say(jobError{jobs[i].URL, r})
		}
	}
	if ended != nil {
		say(ended)
	}
	return saidError{err}
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
