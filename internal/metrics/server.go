package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Bounds of what the server does for clients: a page is some kilobytes, and scrapers are few.
const (
	maxConns      = 16
	maxHeader     = 8 << 10 // bytes, of a request; net/http adds 4 KiB
	headerTimeout = 5 * time.Second
	writeTimeout  = 10 * time.Second
	closeTimeout  = time.Second
)

// ErrAddress says that an address to listen at is none.
var ErrAddress = errors.New("want PORT or HOST:PORT")

// Server answers GET and HEAD of /metrics and /healthz, and nothing else.
type Server struct {
	http     http.Server
	listener net.Listener
	done     chan struct{}
}

// Address gives the address that text means: where it names only a port, that
// of the loopback interface. The error wraps ErrAddress.
func Address(text string) (string, error) {
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", fmt.Errorf("%q: %w", text, ErrAddress)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Errorf("port %q: %w", port, ErrAddress)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Listen serves the run at an address as Address gives it until Close.
func Listen(address string, run *Run) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return serve(l, run), nil
}

// serve serves the run to clients of l.
func serve(l net.Listener, run *Run) *Server {
	s := &Server{listener: l, done: make(chan struct{})}
	s.http = http.Server{
		Handler:           localOnly(l, newHandler(run)),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       headerTimeout,
		WriteTimeout:      writeTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	s.http.SetKeepAlivesEnabled(false) // an idle client would keep others out
	go func() {
		defer close(s.done)
		_ = s.http.Serve(newCrowd(l, maxConns)) // it ends with Close
	}()
	return s
}

// URL is where the metrics are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/metrics" }

// Close lets answers that are under way end, within a second.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // remaining clients have had their time
	}
	<-s.done
}

// handler answers for a run; metrics negotiates the format (text or OpenMetrics)
// and its compression.
type handler struct{ metrics http.Handler }

func newHandler(run *Run) handler {
	return handler{promhttp.HandlerFor(run.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})}
}

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" && r.URL.Path != "/healthz" {
		http.Error(w, "there is /metrics, and /healthz", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.URL.Path == "/metrics" {
		h.metrics.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n") // a reader that is gone needs no answer
}
