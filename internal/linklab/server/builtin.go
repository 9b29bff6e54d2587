package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/dataset"
)

// Config is what a server serves. Exactly one of Body, Files and Dir is set.
type Config struct {
	Body  *Body
	Files *dataset.Set
	Dir   string
	CA    *CA // nil: no TLS
}

// Builtin is the built-in server: HTTP/1.1 and HTTP/2 by prior knowledge in
// clear, HTTP/1.1 and HTTP/2 by negotiation over TLS; ranges, a strong ETag
// and Last-Modified.
type Builtin struct {
	srv *http.Server
	wg  sync.WaitGroup
	mu  sync.Mutex
	err error
}

// StartBuiltin serves on the listeners, which it closes in the end; secure
// may be nil.
func StartBuiltin(c Config, plain, secure []net.Listener) *Builtin {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	b := &Builtin{srv: &http.Server{
		Handler:           handler{c},
		Protocols:         protocols,
		ReadHeaderTimeout: time.Minute,
		// A client that hangs up on a TLS server is what some tests want.
		ErrorLog: log.New(io.Discard, "", 0),
	}}
	if c.CA != nil {
		b.srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{c.CA.leaf}, MinVersion: tls.VersionTLS12}
	}
	for _, l := range plain {
		b.wg.Go(func() { b.keep(b.srv.Serve(l)) })
	}
	for _, l := range secure {
		b.wg.Go(func() { b.keep(b.srv.ServeTLS(l, "", "")) })
	}
	return b
}

func (b *Builtin) keep(err error) {
	if errors.Is(err, http.ErrServerClosed) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = errors.Join(b.err, err)
}

// Close cuts all connections and waits; it returns why the server had ended
// before, if it had.
func (b *Builtin) Close() error {
	err := b.srv.Close()
	b.wg.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err = errors.Join(err, b.err); err != nil {
		return fmt.Errorf("built-in server: %w", err)
	}
	return nil
}

// handler serves the body or the directory.
type handler struct{ c Config }

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := path.Clean("/" + r.URL.Path)
	switch {
	case h.c.Files != nil:
		h.serveFiles(w, r, name)
	case h.c.Body == nil:
		h.serveDir(w, r, name)
	case name == "/"+BodyName:
		etag := `"` + h.c.Body.SHA256[:32] + `"`
		serveFile(w, r, h.c.Body.Path, etag)
	default:
		http.NotFound(w, r)
	}
}

// serveDir serves a file below the directory, and lists a directory.
func (h handler) serveDir(w http.ResponseWriter, r *http.Request, name string) {
	full := filepath.Join(h.c.Dir, filepath.FromSlash(name))
	info, err := os.Stat(full)
	if err != nil || !info.Mode().IsRegular() {
		http.FileServer(http.Dir(h.c.Dir)).ServeHTTP(w, r)
		return
	}
	// As nginx makes it, but to the nanosecond, so that it is a strong one.
	etag := fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size())
	serveFile(w, r, full, etag)
}

// serveFile lets the kernel send the file's ranges: the response of a
// connection in clear turns a copy from an *os.File into sendfile.
func serveFile(w http.ResponseWriter, r *http.Request, name, etag string) {
	f, err := os.Open(name)
	if err != nil {
		http.Error(w, "cannot open the file", http.StatusForbidden)
		return
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		http.Error(w, "cannot read the file", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Etag", etag)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, name, info.ModTime(), f)
}

// Ports that a lab's server listens on; its namespace is its own.
const (
	Port    = 80
	PortTLS = 443
)

// URL is that of a path on the server at an address, in clear or over TLS.
func URL(address, name string, secure bool) string {
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	return scheme + "://" + address + "/" + name
}
