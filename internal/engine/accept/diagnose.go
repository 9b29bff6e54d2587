package accept

import (
	"errors"
	"net/http"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Cause is why a request failed, as far as one can tell.
type Cause uint8

// The causes, by who is to blame: a server, a link, or a file.
const (
	ServerFailed      Cause = iota // the server answers that it has failed, before the file's first byte
	TooManyRequests                // the server answers others, and bounds how many it does
	MaybeTooMany                   // the server forbids a file, perhaps because it bounds requests
	TooManyConns                   // the server serves other connections, and perhaps no more of them
	ServerBusy                     // the server asks to come again later
	ServerElsewhere                // over this link there is no such server, or another one; over others there may be
	NameUnresolved                 // nobody says where the server is
	ServerSilent                   // the link works, and the server does not answer
	LinkFailed                     // nothing comes over the link
	FileBroke                      // link and server work, and the file's request broke off
	FileWithoutRanges              // the server serves no ranges of the file
	FileOdd                        // the answer is no proper one: the file needs a download of its own
	FileDenied                     // the server does not serve the file
)

// Ranges is what a server has done over a link when it was asked for ranges.
type Ranges uint8

// What it has done.
const (
	RangesUnknown Ranges = iota
	RangesIgnored        // it has sent whole objects, and no range
	RangesServed
)

// overloadsMost is how often a server may be too busy for one file because of others, or of
// other parts of it: once for all connections, and then some.
const overloadsMost = 3 * scheduler.MaxStreams

// Failure is a request that failed, and what is known of where it did.
type Failure struct {
	Err    error // leads to a *fetch.Error
	Sized  bool  // the file's size is known, from an answer with some of its bytes
	OneTry bool  // no failure is to be explained away

	Ranges    Ranges // what the server has done over the link
	Others    int    // requests that the server is asked over the link at the same time
	Overloads int    // how often the file was refused because of these
	Bounds    bool   // the server is known to bound them, and to forbid what is beyond
	MayBound  bool   // it may be
	Spare     bool   // this was on a connection that has brought nothing, while others do

	CountsFailures bool // answers that a server has failed have a bound of their own
	Elsewhere      bool // over another link the server may be there, or may be the right one
	Unresolved     bool // a name could not be resolved by which the server was never reached

	LinkWorks    bool // something has come over the link of late
	ServerWorks  bool // the server has answered of late, over whatever link
	ResponseCame bool // to this request
}

// Diagnose says why a request failed: the first explanation that fits.
func Diagnose(f *Failure) Cause {
	err, ok := errors.AsType[*fetch.Error](f.Err)
	if !ok || errors.Is(f.Err, fetch.ErrStalled) {
		return f.network()
	}
	busy, forbidden := err.Class == fetch.Busy, err.Status == http.StatusForbidden
	alone := f.Others == 0 || f.OneTry
	switch {
	case f.CountsFailures && busy && !f.Sized && err.Failing() && (err.Status != http.StatusServiceUnavailable || alone):
		return ServerFailed
	case f.Sized && f.refusesRanges():
		return FileWithoutRanges
	case !f.OneTry && f.Overloads < overloadsMost && (busy && f.Others > 0 || forbidden && f.Bounds):
		return TooManyRequests
	case !f.OneTry && forbidden && f.MayBound:
		return MaybeTooMany
	case !f.OneTry && f.Spare:
		return TooManyConns
	case busy:
		return ServerBusy
	case f.Elsewhere && (err.Class == fetch.TLS || err.Class == fetch.Refused):
		return ServerElsewhere
	case f.Unresolved:
		return NameUnresolved
	case err.Temporary() || err.Class == fetch.DNS || err.Class == fetch.TLS:
		return f.network()
	case err.Class == fetch.Protocol && err.Status == 0:
		return FileOdd
	}
	return FileDenied
}

// refusesRanges says whether the error may be how a server refuses ranges that has served none.
func (f *Failure) refusesRanges() bool {
	switch f.Ranges {
	case RangesServed:
		return false
	case RangesIgnored:
		return fetch.MayRefuseRange(f.Err)
	default:
		return fetch.RefusesRange(f.Err)
	}
}

// network says what is to blame for a failure of the network: the link, if nothing has come over
// it of late; the server, if it does not answer while the link works; and else the file. Where
// somebody refused the connection, or spoke of TLS, the link works.
func (f *Failure) network() Cause {
	somebody := errors.Is(f.Err, fetch.ErrNoHandshake)
	if err, ok := errors.AsType[*fetch.Error](f.Err); ok {
		somebody = somebody || err.Class == fetch.Refused || err.Class == fetch.TLS
	}
	switch {
	case !f.LinkWorks && (f.ServerWorks || !somebody):
		return LinkFailed
	case !f.ServerWorks && !f.ResponseCame:
		return ServerSilent
	}
	return FileBroke
}
