package fetch

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"

	"golang.org/x/net/http2"
)

// http2Error says that the server broke the rules in a way that ends the connection; code is
// the error code to send.
type http2Error struct {
	code http2.ErrCode
	err  *Error
}

func (e *http2Error) Error() string { return e.err.Error() }

func (e *http2Error) Unwrap() error { return e.err }

// errReset says that the server has reset a stream, through no fault of the client.
var errReset = errors.New("server reset the stream")

// broken is an http2Error.
func broken(code http2.ErrCode, format string, args ...any) *http2Error {
	return &http2Error{code, protocolError("http/2: "+format, args...)}
}

// resetError is the error of a stream that the server has reset.
func resetError(code http2.ErrCode) error {
	switch code {
	case http2.ErrCodeRefusedStream:
		return fmt.Errorf("%w: server refused the stream", errResend)
	case http2.ErrCodeHTTP11Required:
		return errWantsHTTP1
	case http2.ErrCodeProtocol, http2.ErrCodeFrameSize, http2.ErrCodeCompression, http2.ErrCodeFlowControl:
		return protocolError("http/2: server reset the stream: %v", code)
	default:
		return fmt.Errorf("%w: %v", errReset, code)
	}
}

// wireError is the error of a connection's streams when reading it failed with err, whose end
// of file is not that of a stream.
func wireError(err error) error {
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &record):
		return &Error{Class: TLS, Err: err}
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return err
}
