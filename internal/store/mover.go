package store

import "syscall"

// Mover takes bytes from a socket to a File without copying them into this
// process's memory: splice(2), through a pipe that belongs to the Mover. Not
// every system can; see NewMover. It belongs to one goroutine.
type Mover struct{ pipe }

// Take moves at most n bytes from conn into the pipe. Like a Read it waits if there is nothing,
// returns what there is, and obeys conn's deadline and its Close; 0 bytes without an error are
// the end of the stream. Bytes taken before must have been given to MoveAt.
func (m *Mover) Take(conn syscall.RawConn, n int64) (int64, error) { return m.take(conn, n) }

// Works says whether moving is still worth a try: file systems that cannot do it
// show so at the first MoveAt, which succeeds by copying.
func (m *Mover) Works() bool { return m.works() }

// Close closes the pipe; what is in it is lost.
func (m *Mover) Close() error { return m.close() }

// MoveAt writes the n bytes that m has taken at off, as WriteAt does. When it
// fails what it did not write is lost, and m is of no more use but to be closed.
func (f *File) MoveAt(m *Mover, n, off int64) (int64, error) {
	if limit := f.limit.Load(); off < 0 || off > limit || n > limit-off {
		return 0, f.outside(int(n), off, limit)
	}
	done, err := m.give(f.file, f.brief, n, off)
	if err != nil {
		return done, fail("write", f.path+partSuffix, err)
	}
	return done, nil
}
