// Package testbody makes bodies for tests and benchmarks: every 8-byte word is
// splitmix64 of its position and a seed, so that no two blocks are alike and a
// byte at the wrong place always changes the hash.
package testbody

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
)

// Body is an object of Size bytes that exists only as a formula.
type Body struct {
	Size int64
	Seed uint64
}

// word is splitmix64 (Steele, Lea and Flood 2014) of the i-th word's position.
func (b Body) word(i uint64) uint64 {
	z := (i + 1 + b.Seed) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// ReadAt fills p with the bytes from off on, as io.ReaderAt asks. The race detector would
// look at each byte of p by itself, which took a third of all its time in the engine's tests.
//
//go:norace
func (b Body) ReadAt(p []byte, off int64) (int, error) {
	if off >= b.Size {
		return 0, io.EOF
	}
	var err error
	if rest := b.Size - off; int64(len(p)) > rest {
		p, err = p[:rest], io.EOF
	}
	n := 0
	for n < len(p) {
		at := off + int64(n)
		i, skip := uint64(at)/8, int(at%8)
		if skip == 0 && len(p)-n >= 8 {
			binary.LittleEndian.PutUint64(p[n:], b.word(i))
			n += 8
			continue
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], b.word(i))
		n += copy(p[n:], w[skip:])
	}
	return n, err
}

// Reader reads the body from its start; it can seek, as http.ServeContent asks.
func (b Body) Reader() *io.SectionReader { return io.NewSectionReader(b, 0, b.Size) }

// SHA256 is the hexadecimal SHA-256 of the whole body.
func (b Body) SHA256() string {
	h := sha256.New()
	if _, err := io.CopyBuffer(h, b.Reader(), make([]byte, 1<<18)); err != nil {
		panic(err) // a formula cannot fail to read
	}
	return hex.EncodeToString(h.Sum(nil))
}
