package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pipe is a pipe with what is on its way through it. The function that is called
// with the socket is made once, so that moving allocates nothing.
type pipe struct {
	r, w   int
	copies bool // the file system does not splice

	enter func(socket uintptr) bool // fromSocket
	n     int                       // bytes that it is to move; then, that it has moved
	err   error                     // its error
}

// pipeSize is the kernel's limit for unprivileged users (pipe(7), pipe-max-size). A pipe has a
// slot for every 4 KiB, and a packet takes a slot or two.
const pipeSize = 1 << 20

// NewMover makes a Mover. It fails where the system has no splice, or does not
// allow a pipe that is large enough to be worth it.
func NewMover() (*Mover, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	m := &Mover{pipe{r: fds[0], w: fds[1]}}
	if _, err := unix.FcntlInt(uintptr(m.w), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl F_SETPIPE_SZ", err), m.close())
	}
	m.enter = m.fromSocket
	return m, nil
}

func (p *pipe) works() bool { return !p.copies }

func (p *pipe) close() error {
	return errors.Join(os.NewSyscallError("close", unix.Close(p.r)), os.NewSyscallError("close", unix.Close(p.w)))
}

func (p *pipe) take(conn syscall.RawConn, n int64) (int64, error) {
	p.n = int(min(n, pipeSize))
	if err := conn.Read(p.enter); err != nil {
		return 0, err
	}
	return int64(p.n), os.NewSyscallError("splice", p.err)
}

// fromSocket is false when the socket has nothing. It never waits, so the runtime need not
// know of the system call, which makes it wake its monitor.
func (p *pipe) fromSocket(socket uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SPLICE, socket, 0, uintptr(p.w), 0, uintptr(p.n), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		switch errno {
		case 0:
			p.n, p.err = int(n), nil //nolint:gosec // at most p.n
			return true
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		default:
			p.n, p.err = 0, errno
			return true
		}
	}
}

// give writes n bytes of the pipe to f, of which b is, at off, by copying where f's file
// system does not splice.
func (p *pipe) give(f *os.File, b *brief, n, off int64) (done int64, err error) {
	for done < n && !p.copies {
		k, err := b.splice(p.r, f, off+done, int(n-done))
		switch {
		case err == nil && k <= 0:
			return done, io.ErrShortWrite
		case err == nil:
			done += int64(k)
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
			p.copies = true
		default:
			return done, os.NewSyscallError("splice", err)
		}
	}
	if done == n {
		return done, nil
	}
	copied, err := p.copy(f, n-done, off+done)
	return done + copied, err
}

// copy writes n bytes of the pipe, which holds so many, by way of memory.
func (p *pipe) copy(f *os.File, n, off int64) (done int64, err error) {
	block := make([]byte, min(n, 64<<10))
	for done < n {
		got, err := unix.Read(p.r, block[:min(n-done, int64(len(block)))])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return done, os.NewSyscallError("read", err)
		case got == 0:
			return done, fmt.Errorf("a pipe lost %d bytes: %w", n-done, io.ErrUnexpectedEOF)
		}
		if _, err := f.WriteAt(block[:got], off+done); err != nil {
			return done, err
		}
		done += int64(got)
	}
	return done, nil
}
