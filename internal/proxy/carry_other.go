//go:build !linux

package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
)

// bufferSize is the most that is read from a socket at a time.
const bufferSize = 16 << 10

// carrier carries bytes between connections. The zero value is ready.
type carrier struct{ buffers sync.Pool }

// carry carries bytes from src to dst until src ends, which is no error.
func (c *carrier) carry(dst, src *net.TCPConn, f flow) error {
	b, ok := c.buffers.Get().(*[bufferSize]byte)
	if !ok {
		b = new([bufferSize]byte)
	}
	defer c.buffers.Put(b)
	for {
		n, err := src.Read(b[:f.most(len(b))])
		if n > 0 {
			f.passed(n)
			if _, err := dst.Write(b[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *carrier) close() {}
