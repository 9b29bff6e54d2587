package linklab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// HashFile is the hexadecimal SHA-256 of a file. Where something else is, a directory
// for instance, there is none.
func HashFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: no regular file: %w", path, os.ErrNotExist)
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	h := sha256.New()
	if _, err := io.CopyBuffer(h, struct{ io.Reader }{f}, make([]byte, 1<<18)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
