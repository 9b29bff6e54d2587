// Package exit holds the exit codes, the errors that stand for them, and how an error is
// printed: one line, and a hint where there is something to do.
package exit

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/mlget/mlget/internal/campaign"
	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/page"
	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/sweep"
)

// The exit codes: wget's, and some beyond.
const (
	OK          = 0
	Other       = 1
	Usage       = 2
	File        = 3
	Network     = 4
	TLS         = 5
	Auth        = 6
	Protocol    = 7
	Response    = 8
	Checksum    = 9
	NoLink      = 45
	Interrupted = 130
)

// Help lists the codes, for help and the manual.
const Help = `
Exit status:
  0 done · 1 other · 2 usage · 3 file I/O · 4 network · 5 TLS verification
  6 authentication · 7 protocol, or the object changed · 8 error response
  9 checksum mismatch · 45 no usable link · 130 interrupted, state saved
`

// UsageError is a mistake on the command line.
type UsageError struct {
	Err  error
	Hint string
}

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// FileError is a failure of a file that is not a download's: a list, a report.
type FileError struct{ Err error }

func (e FileError) Error() string { return e.Err.Error() }
func (e FileError) Unwrap() error { return e.Err }

// PrintedError is an error that has been printed already.
type PrintedError struct{ Err error }

func (e PrintedError) Error() string { return e.Err.Error() }
func (e PrintedError) Unwrap() error { return e.Err }

// ErrMaxTime is the cause when --max-time ends a run.
var ErrMaxTime = errors.New("the time limit of --max-time was reached")

// ErrNoDaemon is returned where the daemon cannot be reached.
var ErrNoDaemon = errors.New("no daemon answers")

// ErrListen is returned where metrics cannot be served at an address.
var ErrListen = errors.New("--metrics-listen: cannot listen at")

// ErrNoPower is returned where no source of power readings works.
var ErrNoPower = errors.New("no power can be measured")

// ErrLeft is the end of what an interrupt ends without a state to go on from.
var ErrLeft = errors.New("interrupted")

// Classify gives an error's exit code, and a hint at what to do, if any.
func Classify(err error) (code int, hint string) {
	var (
		usage UsageError
		file  FileError
		disk  *store.Error
		web   *fetch.Error
		runs  *campaign.FailingError
		swept *sweep.FailingError
	)
	switch {
	case err == nil:
		return OK, ""
	case errors.As(err, &usage):
		return Usage, usage.Hint
	case errors.Is(err, engine.ErrInterrupted):
		return Interrupted, "the same command goes on where this one stopped"
	case errors.Is(err, ErrLeft):
		return Interrupted, ""
	case errors.Is(err, engine.ErrChecksum):
		return Checksum, checksumHint(err)
	case errors.Is(err, engine.ErrCapped):
		return NoLink, "the same command goes on where this one stopped; cap=SIZE starts anew in each run, and mlget links shows what is left of data plans"
	case errors.Is(err, link.ErrWindow):
		return NoLink, "the same command goes on where this one stopped, within the hours of the links"
	case errors.Is(err, link.ErrNoLink), errors.Is(err, link.ErrBind):
		return NoLink, "mlget links shows which links can be used, and why others cannot"
	case errors.Is(err, ErrNoDaemon):
		return Network, "mlget daemon starts one; --rpc says where another one listens"
	case errors.Is(err, ErrMaxTime), errors.Is(err, context.DeadlineExceeded):
		return Network, "the same command goes on where this one stopped"
	case errors.As(err, &disk):
		return File, diskHint(err)
	case errors.As(err, &runs):
		return runs.Report.ExitCode, "the same command goes on where this one stopped"
	case errors.As(err, &swept):
		return cmp.Or(swept.Last.ExitCode, Other), "failed runs count as results and are not repeated: another --state FILE starts over"
	case errors.Is(err, campaign.ErrOther), errors.Is(err, campaign.ErrForeign):
		return File, "-P DIR starts a campaign in another directory"
	case errors.Is(err, dataset.ErrForeign):
		return File, "-o DIR chooses another directory"
	case errors.Is(err, page.ErrNoFigures):
		return Other, ""
	case errors.Is(err, plot.ErrTooLarge):
		return File, "--figure NAME chooses some; -o FILE.svg has room for all"
	case errors.Is(err, ErrNoPower):
		return Other, "mlget power shows which power sources can be read, and why others cannot"
	case errors.As(err, &file), errors.Is(err, syscall.EPIPE):
		return File, fileHint(err)
	case errors.Is(err, engine.ErrLonger):
		return Protocol, hintAway
	case errors.Is(err, engine.ErrChanged):
		return Protocol, hintChanged
	case errors.Is(err, fetch.ErrTooLarge):
		return Response, "--max-filesize SIZE allows more"
	case errors.As(err, &web):
		return webCode(web)
	case errors.Is(err, ErrListen):
		return Other, "--metrics-listen with another port; with port 0, one that is free"
	case errors.As(err, new(*fs.PathError)): // a record, standard output
		return File, fileHint(err)
	}
	return Other, ""
}

// hintChanged is for an object that changed while it was downloaded. A server that generates
// the object for each request may send other bytes each time, so that parts never fit together.
const hintChanged = "the same command starts over with the new object; if this happens each time, the server generates it for each request: fetch it in a single request, as curl does"

// hintAway is for what stands in the way.
const hintAway = "move it away, or save under another name with -o FILE"

// checksumHint says what leads to the right bytes.
func checksumHint(err error) string {
	if errors.Is(err, store.ErrKeep) || errors.Is(err, store.ErrStands) {
		return "move it away, and the same command fetches all of it"
	}
	return "the bytes are kept in the .part file; the next run fetches them anew"
}

// StreamHint is a hint where nothing is kept that could be continued.
func StreamHint(code int, hint string) string {
	switch {
	case code == Checksum:
		return "the output that was written is wrong"
	case strings.Contains(hint, "goes on"):
		return ""
	}
	return hint
}

// hintSocket is for /dev/stdout where it is a socket, as adb shell's is without a terminal:
// it can be written to, but not opened by its name.
const hintSocket = "- writes to standard output"

// fileHint is a hint for a file that is not a download's.
func fileHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is the path right?"
	case errors.Is(err, syscall.ENXIO):
		return hintSocket
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "choose another file, or change its permissions"
	}
	return ""
}

func diskHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space; the same command goes on with what could be saved"
	case errors.Is(err, syscall.EFBIG):
		return "the file system takes no file that large (FAT: 4 GiB); -P DIR saves in another directory"
	case errors.Is(err, syscall.ENXIO):
		return hintSocket
	case errors.Is(err, fs.ErrNotExist):
		return "is the path right? only -P DIR makes directories"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "-P DIR saves in another directory, -o FILE under another name"
	case errors.Is(err, store.ErrReserved):
		return "Windows has devices called CON, NUL and the like, and takes no : and no dot or blank at the end; -o FILE saves under another name"
	case errors.Is(err, store.ErrBusy):
		return "-o FILE saves under another name"
	case errors.Is(err, store.ErrUnfinished):
		return "finish it with that program, or move it and that program's own files away; -o FILE saves under another name"
	case errors.Is(err, store.ErrBegun), errors.Is(err, store.ErrPoses):
		return "-o FILE saves under another name"
	case errors.Is(err, store.ErrForeign), errors.Is(err, store.ErrDirectory), errors.Is(err, store.ErrKeep):
		return hintAway
	}
	return ""
}

func webCode(err *fetch.Error) (code int, hint string) {
	if errors.Is(err, link.ErrHere) {
		return Network, "use --links lo, or the loopback link's name in mlget links"
	}
	if errors.Is(err, link.ErrFamily) {
		return Network, "mlget links shows the addresses of each link; -4 and -6 allow one family only"
	}
	const hintName = "is the name right? mlget links shows what each link can reach, and which name servers it asks"
	if unresolved := (*net.DNSError)(nil); errors.As(err, &unresolved) { // for now, or for good
		return Network, hintName
	}
	switch err.Class {
	case fetch.DNS:
		return Network, hintName
	case fetch.Refused:
		return Network, "no server listens there: are host and port right?"
	case fetch.Network, fetch.Canceled:
		if errors.Is(err, fetch.ErrNoHandshake) {
			return Network, "does the server speak TLS at that port? If not, use http://"
		}
		return Network, "mlget links shows what each link can do; the same command goes on with what is there"
	case fetch.TLS:
		if errors.As(err, new(tls.RecordHeaderError)) {
			return TLS, "the server does not speak TLS at that port: use http:// or another port"
		}
		return TLS, "--cacert FILE names an authority to trust; --insecure skips verification"
	case fetch.Auth:
		if err.Status == http.StatusProxyAuthRequired {
			return Auth, "--proxy-user USER:PASSWORD, or in the proxy's URL: http://USER:PASSWORD@HOST:PORT"
		}
		return Auth, "-u USER:PASSWORD, or --netrc with ~/.netrc"
	case fetch.Protocol:
		return Protocol, ""
	case fetch.Status, fetch.Busy, fetch.Unsatisfied:
		return Response, ""
	}
	return Other, ""
}
