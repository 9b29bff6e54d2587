package fetch

import (
	"encoding/binary"
	"io"

	"golang.org/x/net/http2"
)

const (
	// maxFrame is how long a frame's payload may be: what HTTP/2 allows unless
	// asked for more (RFC 9113, 4.2). Longer ones would gain little, since a TLS
	// record is no longer either.
	maxFrame = 16 << 10
	// frameHead is how long the header of a frame is (RFC 9113, 4.1).
	frameHead = 9
	// aheadSize is how much is read ahead at most; a whole frame, header included, must
	// fit.
	aheadSize = maxFrame + 1<<10
	// aheadOwn is the memory that a connection always has: headers of frames, and frames other
	// than DATA, are small, and there may be dozens of connections.
	aheadOwn = 1 << 10
)

// frameHeader is the header of a frame.
type frameHeader struct {
	length int
	kind   http2.FrameType
	flags  http2.Flags
	stream uint32
}

func parseFrameHeader(b []byte) frameHeader {
	_ = b[frameHead-1]
	return frameHeader{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:   http2.FrameType(b[3]),
		flags:  http2.Flags(b[4]),
		stream: binary.BigEndian.Uint32(b[5:]) & (1<<31 - 1),
	}
}

// wire is the receiving side of a connection, with what has been read of it
// before its turn. A deadline loses nothing, except within Read.
type wire struct {
	src  io.Reader
	tls  *tlsStream // src, if it is TLS
	pool *piecePool
	own  [aheadOwn]byte
	lent *piece // of pool; nil: own serves
	buf  []byte // own or lent memory; buf[r:w] was read ahead
	r, w int
	left int64 // bytes that Read may still take from src
	torn bool  // Read has failed: the beginning of the next frame is unknown
}

func (w *wire) init(src io.Reader, tls *tlsStream, pool *piecePool) {
	w.src, w.tls, w.pool = src, tls, pool
	w.buf = w.own[:]
}

// grow makes the memory suffice for n bytes, of which there are at most aheadSize.
func (w *wire) grow(n int) {
	if n <= len(w.buf) {
		return
	}
	w.lent = w.pool.get()
	w.r, w.w = 0, copy(w.lent.buf[:], w.ahead())
	w.buf = w.lent.buf[:]
}

// shrink gives back what is not needed while nothing is ahead.
func (w *wire) shrink() {
	if w.lent == nil || w.r < w.w {
		return
	}
	w.pool.Put(w.lent)
	w.lent, w.buf = nil, w.own[:]
	w.r, w.w = 0, 0
}

// ready reports whether there is more without asking the connection.
func (w *wire) ready() bool { return w.w-w.r >= frameHead || w.tls.ready() }

// ahead is the bytes that were read and not yet consumed.
func (w *wire) ahead() []byte { return w.buf[w.r:w.w] }

// fill reads until n bytes are ahead, and asks for no more: TLS has the rest of its record at
// hand anyway, and payload should not come in here.
func (w *wire) fill(n int) error {
	w.shrink()
	w.grow(n)
	for w.w-w.r < n {
		if w.r == w.w || w.r+n > len(w.buf) {
			w.w = copy(w.buf, w.ahead())
			w.r = 0
		}
		k, err := w.src.Read(w.buf[w.w : w.r+n])
		w.w += k
		if err != nil && w.w-w.r < n {
			return err
		}
	}
	return nil
}

// take consumes up to n bytes, at least one, and returns them in a piece of the pool's. The
// connection's own memory is not for payload.
func (w *wire) take(n int) (*piece, error) {
	p := w.pool.get()
	room := p.buf[:min(n, pieceSize)]
	if p.n = copy(room, w.ahead()); p.n > 0 {
		w.r += p.n
		return p, nil
	}
	k, err := w.src.Read(room)
	if k == 0 {
		w.pool.Put(p)
		return nil, err
	}
	p.n = k
	return p, nil
}

// keep puts p, of at most aheadSize bytes, ahead of nothing.
func (w *wire) keep(p []byte) {
	w.grow(len(p))
	w.r, w.w = 0, copy(w.buf, p)
}

// Read is for the Framer. It reads from ahead, except the CONTINUATION frames of a header
// block, which come from the connection and are bounded.
func (w *wire) Read(p []byte) (int, error) {
	if w.r < w.w {
		n := copy(p, w.ahead())
		w.r += n
		return n, nil
	}
	if w.left <= 0 {
		w.torn = true
		return 0, errHeaderTooLarge
	}
	n, err := w.src.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	if err != nil && n < len(p) {
		w.torn = true
	}
	return n, err
}
