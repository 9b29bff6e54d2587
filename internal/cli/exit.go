package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
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
	"github.com/mlget/mlget/pkg/scheduler"
)

// The exit codes: wget's, and some beyond.
const (
	exitOK          = 0
	exitOther       = 1
	exitUsage       = 2
	exitFile        = 3
	exitNetwork     = 4
	exitTLS         = 5
	exitAuth        = 6
	exitProtocol    = 7
	exitResponse    = 8
	exitChecksum    = 9
	exitNoLink      = 45
	exitInterrupted = 130
)

const exitHelp = `
Exit status:
  0 done · 1 other · 2 usage · 3 file I/O · 4 network · 5 TLS verification
  6 authentication · 7 protocol, or the object changed · 8 error response
  9 checksum mismatch · 45 no usable link · 130 interrupted, state saved
`

// usageError is a mistake on the command line.
type usageError struct {
	err  error
	hint string
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{err: fmt.Errorf(format, args...)} }

// noSuch says that a flag takes other words.
func noSuch(flag, word string, words []string) error {
	return usagef("%s: there is no %q; there are %s", flag, word, strings.Join(words, ", "))
}

// onlyOf says that a flag takes other words than one of those given, if it does.
func onlyOf(flag string, words []string, given ...string) error {
	for _, word := range given {
		if !slices.Contains(words, word) {
			return noSuch(flag, word, words)
		}
	}
	return nil
}

// checkEnergy says what is wrong with policies of --energy.
func checkEnergy(given ...string) error {
	for _, text := range given {
		if name, _, shared := strings.Cut(text, "="); !slices.Contains(scheduler.EnergyNames(), name) || shared && name != scheduler.EnergyEMTCP.String() {
			return noSuch("--energy", text, scheduler.EnergyNames())
		}
		if _, _, err := scheduler.ParseEnergy(text); err != nil {
			return usagef("--energy %s: %w", text, err)
		}
	}
	return nil
}

// checkPadding says what is wrong with --bdp-padding.
func checkPadding(padding float64) error {
	if padding >= 0 && padding <= 1 { // which NaN is not
		return nil
	}
	return usagef("--bdp-padding: %v is not within 0 to 1", padding)
}

// fileError is a failure of a file that is not a download's: a list, a report.
type fileError struct{ err error }

func (e fileError) Error() string { return e.err.Error() }
func (e fileError) Unwrap() error { return e.err }

// saidError is an error that has been printed already.
type saidError struct{ err error }

func (e saidError) Error() string { return e.err.Error() }
func (e saidError) Unwrap() error { return e.err }

// errMaxTime is the cause of the end that --max-time brings.
var errMaxTime = errors.New("the time that --max-time allows is over")

// errLeft is the end of what an interrupt ends without a state to go on from.
var errLeft = errors.New("interrupted")

// classify gives an error's exit code, and a hint at what to do, if any.
func classify(err error) (code int, hint string) {
	var (
		usage usageError
		file  fileError
		disk  *store.Error
		web   *fetch.Error
		runs  *campaign.FailingError
		swept *sweep.FailingError
	)
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &usage):
		return exitUsage, usage.hint
	case errors.Is(err, engine.ErrInterrupted):
		return exitInterrupted, "the same command goes on where this one stopped"
	case errors.Is(err, errLeft):
		return exitInterrupted, ""
	case errors.Is(err, engine.ErrChecksum):
		return exitChecksum, checksumHint(err)
	case errors.Is(err, engine.ErrCapped):
		return exitNoLink, "the same command goes on where this one stopped; cap= counts anew in each run"
	case errors.Is(err, link.ErrNoLink), errors.Is(err, link.ErrBind):
		return exitNoLink, "mlget links shows what each link can do, and why not"
	case errors.Is(err, errMaxTime), errors.Is(err, context.DeadlineExceeded):
		return exitNetwork, "the same command goes on where this one stopped"
	case errors.As(err, &disk):
		return exitFile, diskHint(err)
	case errors.As(err, &runs):
		return runs.Report.ExitCode, "the same command goes on where this one stopped"
	case errors.As(err, &swept):
		return cmp.Or(swept.Last.ExitCode, exitOther), "--state FILE begins anew: what failed is a result, too, and not tried again"
	case errors.Is(err, campaign.ErrOther), errors.Is(err, campaign.ErrForeign):
		return exitFile, "-P DIR begins another one"
	case errors.Is(err, dataset.ErrForeign):
		return exitFile, "-o DIR takes another directory"
	case errors.Is(err, page.ErrNoFigures):
		return exitOther, ""
	case errors.Is(err, plot.ErrTooLarge):
		return exitFile, "--figure NAME chooses some; -o FILE.svg has room for all"
	case errors.Is(err, errNoPower):
		return exitOther, "mlget power shows what can be measured, and why not"
	case errors.As(err, &file), errors.Is(err, syscall.EPIPE):
		return exitFile, fileHint(err)
	case errors.Is(err, engine.ErrLonger):
		return exitProtocol, hintAway
	case errors.Is(err, engine.ErrChanged):
		return exitProtocol, hintChanged
	case errors.As(err, &web):
		return webCode(web)
	case errors.Is(err, errListen):
		return exitOther, "--metrics-listen with another port; with port 0, one that is free"
	case errors.As(err, new(*fs.PathError)): // a record, standard output
		return exitFile, fileHint(err)
	}
	return exitOther, ""
}

// hintChanged is for an object that changed while it was downloaded. Each request for
// one that is made anew may bring another, so that none of its parts fit together.
const hintChanged = "the same command starts over with the new object; if this happens each time, the server makes it anew for each request, and only a single one, such as curl's, brings it whole"

// hintAway is for what stands in the way.
const hintAway = "move it away, or -o FILE saves under another name"

// checksumHint says what leads to the right bytes.
func checksumHint(err error) string {
	if errors.Is(err, store.ErrKeep) || errors.Is(err, store.ErrStands) {
		return "move it away, and the same command fetches all of it"
	}
	return "the bytes are kept in the .part file; the next run fetches them anew"
}

// streamHint is a hint where nothing is kept that could be continued.
func streamHint(code int, hint string) string {
	switch {
	case code == exitChecksum:
		return "what was written is not what it should be"
	case strings.Contains(hint, "goes on"):
		return ""
	}
	return hint
}

// fileHint is a hint for a file that is not a download's.
func fileHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is the path right?"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "who runs mlget may not open it: another file, or other rights"
	}
	return ""
}

func diskHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room; the same command goes on with what could be kept"
	case errors.Is(err, fs.ErrNotExist):
		return "is the path right? only -P DIR makes directories"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "-P DIR saves in another directory, -o FILE under another name"
	case errors.Is(err, store.ErrReserved):
		return "Windows has devices called CON, NUL and the like, and takes no : and no dot or blank at the end; -o FILE saves under another name"
	case errors.Is(err, store.ErrBusy):
		return "-o FILE saves under another name"
	case errors.Is(err, store.ErrUnfinished):
		return "finish it with that program, or move it away, and what that program keeps beside it; -o FILE saves under another name"
	case errors.Is(err, store.ErrBegun), errors.Is(err, store.ErrPoses):
		return "-o FILE saves under another name"
	case errors.Is(err, store.ErrForeign), errors.Is(err, store.ErrDirectory), errors.Is(err, store.ErrKeep):
		return hintAway
	}
	return ""
}

func webCode(err *fetch.Error) (code int, hint string) {
	if errors.Is(err, link.ErrHere) {
		return exitNetwork, "--links lo names that link, which mlget links may call otherwise here"
	}
	if errors.Is(err, link.ErrFamily) {
		return exitNetwork, "mlget links shows the addresses that each link has; -4 and -6 leave out those of the other family"
	}
	const hintName = "is the name right? mlget links shows what each link can reach, and which name servers it asks"
	if unresolved := (*net.DNSError)(nil); errors.As(err, &unresolved) { // for now, or for good
		return exitNetwork, hintName
	}
	switch err.Class {
	case fetch.DNS:
		return exitNetwork, hintName
	case fetch.Refused:
		return exitNetwork, "nobody listens there: are host and port right?"
	case fetch.Network, fetch.Canceled:
		if errors.Is(err, fetch.ErrNoHandshake) {
			return exitNetwork, "does the server speak TLS at that port? Where it does not, the URL begins with http://"
		}
		return exitNetwork, "mlget links shows what each link can do; the same command goes on with what is there"
	case fetch.TLS:
		if errors.As(err, new(tls.RecordHeaderError)) {
			return exitTLS, "at that port the URL begins with http://, or the port is another"
		}
		return exitTLS, "--cacert FILE names the authority to believe; --insecure does without verification"
	case fetch.Auth:
		if err.Status == http.StatusProxyAuthRequired {
			return exitAuth, "a proxy's user and password stand in http_proxy or https_proxy: http://USER:PASSWORD@HOST:PORT"
		}
		return exitAuth, "-u USER:PASSWORD, or --netrc with ~/.netrc"
	case fetch.Protocol:
		return exitProtocol, ""
	case fetch.Status, fetch.Busy, fetch.Unsatisfied:
		return exitResponse, ""
	}
	return exitOther, ""
}
