package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// GID names a job: 16 hexadecimal digits in a text, never 0.
type GID uint64

// ErrGID is returned for a text that is no GID.
var ErrGID = errors.New("not 16 hexadecimal digits")

// NewGID makes a random GID.
func NewGID() GID {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // it never fails
		if g := GID(binary.BigEndian.Uint64(b[:])); g != 0 {
			return g
		}
	}
}

// ParseGID reads a whole GID.
func ParseGID(text string) (GID, error) {
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != 16 || n == 0 {
		return 0, ErrGID
	}
	return GID(n), nil
}

// String is the GID's 16 digits, in lower case.
func (g GID) String() string { return fmt.Sprintf("%016x", uint64(g)) }

// MarshalText implements encoding.TextMarshaler.
func (g GID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (g *GID) UnmarshalText(text []byte) (err error) {
	*g, err = ParseGID(string(text))
	return err
}

// span is the GIDs that begin with a prefix: from low up to high.
func span(prefix string) (low, high GID, err error) {
	n, err := strconv.ParseUint(prefix, 16, 64)
	if err != nil || len(prefix) > 16 || prefix[0] == '+' {
		return 0, 0, ErrGID
	}
	free := 4 * (16 - len(prefix)) // bits that the prefix leaves open
	low = GID(n << free)
	return low, low | GID(uint64(1)<<free-1), nil
}
