package engine

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Checksum is what the object's bytes must add up to.
type Checksum struct {
	Algorithm string // sha256, sha512, sha1 or md5
	Sum       []byte
}

// ErrChecksum says that the bytes are not those that were expected.
var ErrChecksum = errors.New("checksum mismatch")

// ParseChecksum reads ALGO=HEX. Algorithms may be spelled as aria2 and metalinks do,
// SHA-256.
func ParseChecksum(text string) (*Checksum, error) {
	algorithm, sum, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("%q is not ALGO=HEX", text)
	}
	c := &Checksum{Algorithm: strings.Replace(strings.ToLower(algorithm), "sha-", "sha", 1)}
	h := c.hash()
	if h == nil {
		return nil, fmt.Errorf("unknown checksum algorithm %q; known are sha256, sha512, sha1, md5", algorithm)
	}
	var err error
	if c.Sum, err = hex.DecodeString(strings.TrimSpace(sum)); err != nil || len(c.Sum) != h.Size() {
		return nil, fmt.Errorf("%q is no %s, which has %d hexadecimal digits", sum, c.Algorithm, 2*h.Size())
	}
	return c, nil
}

func (c *Checksum) hash() hash.Hash {
	switch c.Algorithm {
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	case "sha1":
		return sha1.New()
	case "md5":
		return md5.New()
	}
	return nil
}

// verify reads size bytes and compares.
func (c *Checksum) verify(ctx context.Context, r io.ReaderAt, size int64) error {
	h := c.hash()
	in := io.NewSectionReader(r, 0, size)
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		switch n, err := io.CopyN(h, in, 8<<20); {
		case errors.Is(err, io.EOF):
			return c.compare(h.Sum(nil))
		case err != nil:
			return fmt.Errorf("checksum: read after %d bytes: %w", n, err)
		}
	}
}

// check verifies what is in a file. What is wrong is rejected; when ctx ends before that is known,
// what is there is left to the next run, if it is worth keeping.
func (c *Checksum) check(ctx context.Context, to sink, size int64, keep bool) error {
	err := c.verify(ctx, to, size)
	switch {
	case errors.Is(err, ErrChecksum):
		return rejected(err, to.Reject())
	case err != nil && keep:
		return firstError(err, to.Suspend([]scheduler.Range{{End: size}}))
	}
	return err
}

func (c *Checksum) compare(sum []byte) error {
	if string(sum) != string(c.Sum) {
		return fmt.Errorf("%w: %s is %x, expected %x", ErrChecksum, c.Algorithm, sum, c.Sum)
	}
	return nil
}

// rejected is a mismatch, and what keeps the next run from fetching all anew; nil:
// nothing does.
func rejected(mismatch, why error) error {
	if why == nil {
		return mismatch
	}
	if disk := (*store.Error)(nil); errors.As(why, &disk) { // what was to be done there says nothing here
		return fmt.Errorf("%w; %s %w", mismatch, disk.Path, disk.Err)
	}
	return fmt.Errorf("%w; %w", mismatch, why)
}
