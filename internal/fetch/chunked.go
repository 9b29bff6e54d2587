package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// chunked is a body in chunks (RFC 9112, 7.1). Lines may end in LF alone, as curl has it,
// which net/http refuses; extensions and trailers, of any length that a header may have, are
// passed over.
type chunked struct {
	br   *bufio.Reader
	in   *meter // of br
	left int64  // bytes of the chunk that are still to come
	open bool   // a chunk's data has begun: a line end is to follow
	err  error  // what Read says from now on
}

func newChunked(br *bufio.Reader, in *meter) *chunked { return &chunked{br: br, in: in} }

// errChunk says that the chunks cannot be told apart.
var errChunk = errors.New("malformed chunk")

// Read returns io.EOF when the trailers have been read, too. It fills p from chunks that
// are there already, but waits for no more than one.
func (c *chunked) Read(p []byte) (n int, err error) {
	for c.err == nil && len(p) > n {
		if c.left == 0 {
			if n > 0 && !c.lineThere() {
				return n, nil
			}
			c.err = c.next()
			continue
		}
		m, err := c.br.Read(p[n:][:min(int64(len(p)-n), c.left)])
		n, c.left = n+m, c.left-int64(m)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if c.err = err; c.left > 0 {
			break
		}
	}
	if n > 0 && !errors.Is(c.err, io.EOF) {
		return n, nil // the error comes again
	}
	return n, c.err
}

// lineThere says whether a chunk's size can be read without waiting.
func (c *chunked) lineThere() bool {
	there, _ := c.br.Peek(c.br.Buffered())
	if c.open { // the data's own line end comes first
		_, there, _ = bytes.Cut(there, []byte("\n"))
	}
	return bytes.IndexByte(there, '\n') >= 0
}

// next goes on to the next chunk; io.EOF: there is none.
func (c *chunked) next() error {
	if c.open {
		switch end, err := c.line(); {
		case err != nil:
			return err
		case len(end) > 0:
			return fmt.Errorf("%w: it is longer than its size", errChunk)
		}
	}
	line, err := c.line()
	if err != nil {
		return err
	}
	size, _, _ := bytes.Cut(line, []byte(";"))
	n, err := strconv.ParseUint(string(bytes.TrimRight(size, " \t")), 16, 63)
	switch {
	case err != nil:
		return fmt.Errorf("%w: size %.20q", errChunk, size)
	case n == 0:
		return c.trailers()
	}
	c.left, c.open = int64(n), true
	return nil
}

// line reads a line without its end. One of a chunk's size may be as long as a header.
func (c *chunked) line() ([]byte, error) {
	c.in.left = maxHeaderBytes
	line, err := readLine(c.br)
	if errors.Is(err, errHeaderTooLarge) {
		return nil, protocolError("chunk's line too long (over %d KiB)", maxHeaderBytes>>10)
	}
	c.in.left = unmetered
	return line, err
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
