//go:build !linux

package proxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// bufferSize is the most that is read from a socket at a time.
const bufferSize = 16 << 10

// carrier carries bytes between connections. The zero value is ready.
type carrier struct{ buffers sync.Pool }

// carry carries bytes from src to dst until src ends, which is no error, and counts them.
func (c *carrier) carry(dst, src *net.TCPConn, count *atomic.Int64) error {
	b, ok := c.buffers.Get().(*[bufferSize]byte)
	if !ok {
		b = new([bufferSize]byte)
	}
	defer c.buffers.Put(b)
	for {
		n, err := src.Read(b[:])
		if n > 0 {
			count.Add(int64(n))
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
