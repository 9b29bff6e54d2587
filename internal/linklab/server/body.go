// Package server is the web server of a linklab: the built-in one, or an
// nginx that is started with a configuration made for it.
//
// A server runs from its start to its Close, which waits for its goroutines
// and its process; Close may be called from any goroutine.
package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// BodyName is the last element of the body's URL.
const BodyName = "body.bin"

// Body is the object that a lab serves: a file in dir.
type Body struct {
	Path   string
	Size   int64
	SHA256 string // hexadecimal
}

// modified is the body's Last-Modified: the same in every run, and so is the
// body, so that a download can go on in the next run.
func modified() time.Time { return time.Date(2019, time.May, 1, 12, 0, 0, 0, time.UTC) }

// WriteBody writes size bytes that never repeat into dir and hashes them. It
// is a real file so that the kernel can send it without copying it.
func WriteBody(dir string, size int64) (Body, error) {
	b := Body{Path: filepath.Join(dir, BodyName), Size: size}
	f, err := os.OpenFile(b.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return b, fmt.Errorf("test body: %w", err)
	}
	h := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(f, h), testbody.Body{Size: size}.Reader(), make([]byte, 1<<18))
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err == nil {
		err = os.Chtimes(b.Path, modified(), modified())
	}
	if err != nil {
		return b, fmt.Errorf("test body: %w", err)
	}
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	return b, nil
}
