package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/mlget/mlget/internal/errno"
)

// ErrStalled is the cause with which to cancel a Get's context when nothing has
// arrived for too long: the connection is then thrown away even if it is an
// HTTP/2 connection, which otherwise outlives the cancelling of one stream.
var ErrStalled = errors.New("stalled: nothing received")

// ErrSpent is the cause with which to cancel a Get's context when too many unwanted bytes are
// under way on its connection: the connection is closed, as with ErrStalled.
var ErrSpent = errors.New("what is on its way is not wanted")

// closes says whether a request whose context is ctx takes its connection with it.
func closes(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, ErrStalled) || errors.Is(cause, ErrSpent)
}

// ErrClosed is the error of calls on a closed Client.
var ErrClosed = errors.New("client closed")

// errResend says that the request got no byte of an answer because of its
// connection and not because of what it asked: it is sent again elsewhere.
var errResend = errors.New("connection closed before the response")

// errCut is the end of a TLS connection without a close_notify: the bytes before it may be only
// a part of what was sent.
var errCut = fmt.Errorf("connection closed early, without a close_notify of tls: %w", io.ErrUnexpectedEOF)

// ErrUnannounced is that end of a body which has no length: only the end of the connection
// could tell that it is complete. A server that ends one so ends all so.
var ErrUnannounced = fmt.Errorf("the body has no length, and %w", errCut)

// ErrNoHandshake is a connection's end where TLS was spoken to it: of an overloaded server,
// or of one that does not know TLS.
var ErrNoHandshake = errors.New("the server ended the connection")

// ErrTooLarge is part of the error of an object that has more bytes than Config.MaxSize allows.
var ErrTooLarge = errors.New("the file is too large")

// errQueued is errResend of a request that was queued behind others when the connection
// ended: that says nothing of it.
var errQueued = fmt.Errorf("%w to those in front", errResend)

// errWantsHTTP1 is errResend of a server that does not answer this over HTTP/2.
var errWantsHTTP1 = fmt.Errorf("%w: server wants HTTP/1.1", errResend)

// errHeaderTooLarge says that a response header passed maxHeaderBytes.
var errHeaderTooLarge = errors.New("response header too large")

// Class is the kind of an Error's failure: it decides what to do next.
type Class uint8

// The classes. Only Network, Refused and Busy are worth another try as they are.
const (
	Network     Class = iota + 1 // connection broke or timed out
	DNS                          // no such host
	Refused                      // no server listens at that port
	TLS                          // certificate or handshake not acceptable
	Auth                         // 401, 407
	Status                       // any other HTTP error
	Busy                         // 408, 429, 500, 502, 503, 504
	Protocol                     // the answer is not what HTTP allows or we asked for
	Unsatisfied                  // 416: the range lies outside the object
	Canceled                     // the caller's context ended; Err is its cause
)

// String names the class in lower case.
func (c Class) String() string {
	switch c {
	case Network:
		return "network"
	case DNS:
		return "dns"
	case Refused:
		return "refused"
	case TLS:
		return "tls"
	case Auth:
		return "auth"
	case Status:
		return "status"
	case Busy:
		return "busy"
	case Protocol:
		return "protocol"
	case Unsatisfied:
		return "unsatisfied"
	case Canceled:
		return "canceled"
	}
	return "unknown"
}

// Error is every failure of this package. Its text is one line without control
// characters, and holds no credentials.
type Error struct {
	Class      Class
	Status     int           // HTTP status, 0 when there was none
	RetryAfter time.Duration // how long the server asks to wait, at most 10 minutes; 0: it does not say
	Object     *Object       // the object as an error response describes it (416: its size), or nil
	Err        error         // what happened
	plain      bool          // the request had no Range
}

// Error describes the failure in one printable line.
func (e *Error) Error() string {
	if e.Err != nil {
		return printable(e.Err.Error())
	}
	if text := http.StatusText(e.Status); text != "" {
		return fmt.Sprintf("server answered %d %s", e.Status, text)
	}
	return fmt.Sprintf("server answered %d", e.Status)
}

// Unwrap returns what happened, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may well succeed a little later.
func (e *Error) Temporary() bool {
	return e.Class == Network || e.Class == Refused || e.Class == Busy
}

// Failing reports whether the server has answered that it cannot serve this, without a word
// of when it can: mostly it is so again the next time. So it is where the connection was ended
// when a TLS handshake began.
func (e *Error) Failing() bool {
	if e.Class == Busy {
		return e.Status != http.StatusTooManyRequests && (e.Status != http.StatusServiceUnavailable || e.RetryAfter == 0)
	}
	return errors.Is(e, ErrNoHandshake)
}

// protocolError says that the answer breaks HTTP or is not what was asked for.
func protocolError(format string, args ...any) *Error {
	return &Error{Class: Protocol, Err: fmt.Errorf(format, args...)}
}

// dialError classifies a failure to connect. The context's cause comes first:
// what follows from a cancellation must not hide it.
func dialError(ctx context.Context, err error) *Error {
	if e := ended(ctx); e != nil {
		return e
	}
	var have *Error
	if errors.As(err, &have) {
		return have
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return &Error{Class: DNS, Err: unknownName{dns}}
	case errno.IsRefused(err):
		return &Error{Class: Refused, Err: err}
	case isTLS(err):
		return &Error{Class: TLS, Err: err}
	}
	return &Error{Class: Network, Err: err}
}

// unknownName says briefly that there is no such host, and why, if there is more to say than
// that the name servers do not know the name.
type unknownName struct{ dns *net.DNSError }

func (e unknownName) Error() string {
	if e.dns.Err == "no such host" {
		return "no such host: " + e.dns.Name
	}
	return e.dns.Name + ": " + e.dns.Err
}

func (e unknownName) Unwrap() error { return e.dns }

// ended is the error of a context that is over, or nil.
func ended(ctx context.Context) *Error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Class: Canceled, Err: context.Cause(ctx)}
}

// readError classifies a failure to read a header or a body.
func readError(ctx context.Context, err error) *Error {
	if e := ended(ctx); e != nil {
		return e
	}
	var have *Error
	if errors.As(err, &have) {
		return have
	}
	switch {
	case errors.Is(err, ErrUnannounced):
		return &Error{Class: Network, Err: ErrUnannounced}
	case errors.Is(err, errCut):
		return &Error{Class: Network, Err: errCut}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Class: Network, Err: fmt.Errorf("connection closed early: %w", io.ErrUnexpectedEOF)}
	case errors.Is(err, net.ErrClosed):
		return &Error{Class: Network, Err: errors.New("connection closed")}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Error{Class: Network, Err: fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)}
	}
	return &Error{Class: Network, Err: err}
}

// isTLS reports whether a handshake failed for reasons that trying again does
// not mend, rather than because the connection broke.
func isTLS(err error) bool {
	var (
		verify   *tls.CertificateVerificationError
		record   tls.RecordHeaderError
		alert    tls.AlertError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		op       *net.OpError
	)
	if errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		errors.As(err, &unknown) || errors.As(err, &hostname) || errors.As(err, &invalid) {
		return true
	}
	// crypto/tls reports alerts of the peer, and its own, as an OpError.
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// handshakeError is the failure of a TLS handshake: what is no breaking of the
// connection is a refusal, whatever its type.
func handshakeError(ctx context.Context, host string, err error) *Error {
	if e := ended(ctx); e != nil {
		return e
	}
	var timeout net.Error
	broken := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout)
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		err = notTLS{record}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errno.IsReset(err):
		err = ErrNoHandshake
	}
	err = fmt.Errorf("tls handshake with %s: %w", host, err)
	if broken && !isTLS(err) {
		return &Error{Class: Network, Err: err}
	}
	return &Error{Class: TLS, Err: err}
}

// notTLS is an answer to a TLS handshake that is in no way one.
type notTLS struct{ tls.RecordHeaderError }

func (notTLS) Error() string   { return "the server does not speak TLS" }
func (e notTLS) Unwrap() error { return e.RecordHeaderError }

// urlError is a URL parser's error without the URL, which may hold a password.
func urlError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// printable is the first line of s without control and invisible formatting
// characters, which could drive a terminal (wget CVE-2004-1488), and short.
func printable(s string) string {
	const most = 300
	if i := strings.IndexAny(s, "\r\n"); i >= 0 {
		s = s[:i]
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most-3], "") + "..."
	}
	return s
}
