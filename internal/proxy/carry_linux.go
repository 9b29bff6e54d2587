package proxy

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// pipeSize is what is asked of the kernel for a pipe; where it grants less, as it does
	// when a user has many, that does.
	pipeSize = 256 << 10
	// sparePipes is how many pipes are kept for whoever needs one next.
	sparePipes = 32
)

// carrier carries bytes between connections inside the kernel: from socket to pipe, and from
// pipe to socket. The zero value is ready.
type carrier struct {
	mu    sync.Mutex
	spare []pipe // that nobody uses now
}

// carry carries bytes from src to dst until src ends, which is no error.
func (c *carrier) carry(dst, src *net.TCPConn, f flow) error {
	from, err := src.SyscallConn()
	if err != nil {
		return err
	}
	to, err := dst.SyscallConn()
	if err != nil {
		return err
	}
	m := mover{carrier: c, flow: f}
	return m.run(from, to)
}

// mover carries the bytes of one direction. It holds a pipe only while bytes flow, so that
// an idle tunnel costs no descriptors beyond its sockets.
type mover struct {
	carrier *carrier
	flow    flow
	pipe    pipe
	held    bool // there is a pipe
	inPipe  int
	err     error
}

func (m *mover) run(src, dst syscall.RawConn) error {
	defer m.release()
	fill, drain := m.fill, m.drain // once: a method value is an allocation
	for {
		if err := src.Read(fill); err != nil {
			return err
		}
		if m.err != nil || m.inPipe == 0 {
			return m.err
		}
		m.flow.passed(m.inPipe)
		for m.inPipe > 0 {
			if err := dst.Write(drain); err != nil {
				return err
			}
			if m.err != nil {
				return m.err
			}
		}
	}
}

// fill takes what src has into the pipe. It is false where src has nothing yet: the pipe is
// another tunnel's until it has.
func (m *mover) fill(fd uintptr) (done bool) {
	if !m.held {
		if m.pipe, m.err = m.carrier.take(); m.err != nil {
			return true
		}
		m.held = true
	}
	n, err := splice(int(fd), m.pipe.w, m.flow.most(pipeSize))
	if errors.Is(err, unix.EAGAIN) {
		m.release()
		return false
	}
	m.inPipe, m.err = n, os.NewSyscallError("splice", err)
	return true
}

// drain gives dst what is in the pipe. It is false where dst takes nothing for now.
func (m *mover) drain(fd uintptr) (done bool) {
	n, err := splice(m.pipe.r, int(fd), m.inPipe)
	if errors.Is(err, unix.EAGAIN) {
		return false
	}
	m.inPipe -= n
	m.err = os.NewSyscallError("splice", err)
	return true
}

func splice(from, to, most int) (int, error) {
	for {
		n, err := unix.Splice(from, nil, to, nil, most, unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		if !errors.Is(err, unix.EINTR) {
			return max(0, int(n)), err
		}
	}
}

// release gives the pipe back. One with bytes in it is closed.
func (m *mover) release() {
	if m.held {
		m.held = false
		m.carrier.give(m.pipe, m.inPipe == 0)
	}
}

// pipe is where spliced bytes are on their way.
type pipe struct{ r, w int }

// take is a pipe without bytes in it.
func (c *carrier) take() (pipe, error) {
	c.mu.Lock()
	if n := len(c.spare); n > 0 {
		p := c.spare[n-1]
		c.spare = c.spare[:n-1]
		c.mu.Unlock()
		return p, nil
	}
	c.mu.Unlock()
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return pipe{}, os.NewSyscallError("pipe2", err)
	}
	_, _ = unix.FcntlInt(uintptr(fds[1]), unix.F_SETPIPE_SZ, pipeSize)
	return pipe{fds[0], fds[1]}, nil
}

func (c *carrier) give(p pipe, empty bool) {
	c.mu.Lock()
	keep := empty && len(c.spare) < sparePipes
	if keep {
		c.spare = append(c.spare, p)
	}
	c.mu.Unlock()
	if !keep {
		_ = unix.Close(p.r)
		_ = unix.Close(p.w)
	}
}

// close closes the pipes that nobody uses.
func (c *carrier) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.spare {
		_ = unix.Close(p.r)
		_ = unix.Close(p.w)
	}
	c.spare = nil
}
