package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http/httputil"
)

// chunked is a body in chunks. net/http's own refuses trailers that exceed the connection's
// buffer, each time that they come; nobody needs any, so they are passed over.
type chunked struct {
	chunks io.Reader
	br     *bufio.Reader
	in     *meter // of br
}

func newChunked(br *bufio.Reader, in *meter) *chunked {
	return &chunked{chunks: httputil.NewChunkedReader(br), br: br, in: in}
}

// Read returns io.EOF when the trailers have been read, too.
func (c *chunked) Read(p []byte) (int, error) {
	n, err := c.chunks.Read(p)
	if errors.Is(err, io.EOF) {
		err = c.trailers()
	}
	return n, err
}

// trailers reads up to the empty line behind the last chunk, and returns io.EOF there.
func (c *chunked) trailers() error {
	c.in.left = maxHeaderBytes
	for begins := true; ; {
		line, err := c.br.ReadSlice('\n')
		switch {
		case err == nil && begins && len(bytes.TrimRight(line, "\r\n")) == 0:
			c.in.left = unmetered
			return io.EOF
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case errors.Is(err, errHeaderTooLarge):
			return protocolError("trailers too large (over %d KiB)", maxHeaderBytes>>10)
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		begins = err == nil
	}
}
