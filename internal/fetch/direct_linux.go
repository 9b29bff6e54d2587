package fetch

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// directConn reads and writes a socket by system calls that bypass the Go runtime. They never wait, since
// the socket does not block, and take no longer than copying. The runtime answers the first
// call after a pause by waking its monitor, which then sleeps and looks several times before it
// rests again: over a link slower than the machine these were most of a download's context
// switches.
//
// Like a response, it has one reader at a time.
type directConn struct {
	net.Conn
	raw   syscall.RawConn
	trace Trace                 // may be nil
	enter func(fd uintptr) bool // read, kept: making it allocates
	p     []byte                // to read into
	n     int                   // bytes read
	err   error
}

// direct is c with reads of its own, reported to trace, if c's bytes are the kernel's.
func direct(c net.Conn, trace Trace) net.Conn {
	tcp, ok := kernels(c).(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	d := &directConn{Conn: c, raw: raw, trace: trace}
	d.enter = d.read
	return d
}

// dialled is the connection of which direct made c.
func dialled(c net.Conn) net.Conn {
	if d, ok := c.(*directConn); ok {
		return d.Conn
	}
	return c
}

// NetConn returns the kernel's connection.
func (d *directConn) NetConn() net.Conn { return d.Conn }

func (d *directConn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	d.p, d.n, d.err = p, 0, nil
	err := d.raw.Read(d.enter)
	d.p = nil
	switch {
	case err != nil:
		if op, ok := errors.AsType[*net.OpError](err); ok { // which net calls raw-read
			err = op.Err
		}
		return 0, d.failed(err)
	case d.err != nil:
		return 0, d.failed(os.NewSyscallError("read", d.err))
	case d.n == 0:
		return 0, io.EOF
	}
	return d.n, nil
}

// Write writes at once what the socket takes; what it has no room for waits as any write does.
func (d *directConn) Write(p []byte) (int, error) {
	n := 0
	if len(p) > 0 {
		_ = d.raw.Control(func(fd uintptr) { n = writeNow(fd, p) }) // the ordinary write has its error, too
	}
	if n == len(p) {
		return n, nil
	}
	more, err := d.Conn.Write(p[n:])
	return n + more, err
}

func (d *directConn) failed(err error) error {
	return &net.OpError{Op: "read", Net: d.RemoteAddr().Network(), Source: d.LocalAddr(), Addr: d.RemoteAddr(), Err: err}
}

// read is false when the socket has nothing.
func (d *directConn) read(fd uintptr) bool {
	for {
		n, errno := readNow(fd, d.p)
		switch errno {
		case 0:
			d.n = n
			if n > 0 && d.trace != nil {
				d.trace.Read()
			}
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			d.err = errno
			return true
		}
	}
}
