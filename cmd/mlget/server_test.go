package main_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// site is a web server with good and bad habits. A path is
// /HABIT/SIZE/NAME; "/" and what begins with /index/ are of 1000 bytes.
type site struct {
	clear, secure *httptest.Server

	mu       sync.Mutex
	requests []string // method, path, and range
	conns    int      // opened, in clear and over TLS
	last     http.Header
	heads    map[string][]http.Header // by the path asked for
	proxied  int
	settings map[string]string
	released chan struct{} // closed when answers that hang are to go on
}

// modified is when everything on the site was.
func modified() time.Time { return time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC) }

// body is what the site serves under a size; content chooses among versions.
func body(size int64, content string) testbody.Body {
	b := testbody.Body{Size: size, Seed: 7}
	for _, c := range content {
		b.Seed = b.Seed<<8 + uint64(c)
	}
	return b
}

func newSite(t testing.TB) *site {
	s := &site{settings: map[string]string{}, released: make(chan struct{})}
	for _, srv := range []**httptest.Server{&s.clear, &s.secure} {
		*srv = httptest.NewUnstartedServer(s)
		(*srv).Config.ErrorLog = log.New(io.Discard, "", 0)
		(*srv).Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.mu.Lock()
				s.conns++
				s.mu.Unlock()
			}
		}
		t.Cleanup(func() { // under wine a write does not always see that its client has gone
			(*srv).CloseClientConnections()
			(*srv).Close()
		})
	}
	t.Cleanup(s.release) // before the servers close, which waits for answers
	s.clear.Start()
	s.secure.EnableHTTP2 = true
	s.secure.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	s.secure.StartTLS()
	return s
}

// writeCA writes the certificate that vouches for the site.
func (s *site) writeCA(dir string) (string, error) {
	path := filepath.Join(dir, "site-ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: s.secure.Certificate().Raw}
	return path, os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}

// set changes how the site behaves from now on.
func (s *site) set(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[name] = value
}

func (s *site) setting(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings[name]
}

// release lets answers that hang go on, now and later.
func (s *site) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.released:
	default:
		close(s.released)
	}
}

// seen gives the requests since the last call.
func (s *site) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.requests
	s.requests = nil
	return seen
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Range")))
	s.last = r.Header.Clone()
	if s.heads == nil {
		s.heads = make(map[string][]http.Header)
	}
	s.heads[r.URL.Path] = append(s.heads[r.URL.Path], s.last)
	if r.URL.IsAbs() || r.Method == http.MethodConnect {
		s.proxied++
	}
	s.mu.Unlock()
	if r.Method == http.MethodConnect {
		s.tunnel(w)
		return
	}
	habit, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	sizeText, _, _ := strings.Cut(rest, "/")
	size, err := strconv.ParseInt(sizeText, 10, 64)
	if err != nil {
		size = 1000
	}
	s.serve(w, r, habit, size)
}

// serve answers a request in the way that the habit names.
func (s *site) serve(w http.ResponseWriter, r *http.Request, habit string, size int64) {
	content := s.setting("content")
	b := body(size, content)
	w.Header().Set("Etag", s.setting("weak")+strconv.Quote("v"+content))
	w.Header().Set("Content-Type", "application/octet-stream")
	if e := s.setting("encoding"); e != "" { // what it says of itself, true or not
		w.Header().Set("Content-Encoding", e)
	}
	whole := func() {
		r.Header.Del("Range")
		http.ServeContent(w, r, "", modified(), b.Reader())
	}
	switch habit {
	case "", "index", "ranges":
		if s.setting("ranges") == "off" {
			w.Header().Set("Accept-Ranges", "none")
			whole()
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "noranges":
		whole()
	case "unconditional": // takes no notice of a condition
		r.Header.Del("If-Modified-Since")
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "nohead":
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "chunked":
		_, _ = io.Copy(flusher{w}, b.Reader()) // the client may be gone
	case "nothing": // no validators at all
		w.Header().Del("Etag")
		http.ServeContent(w, r, "", time.Time{}, b.Reader())
	case "undated": // an ETag for each content, and no date
		http.ServeContent(w, r, "", time.Time{}, b.Reader())
	case "anew": // for each request, as a page that is generated
		w.Header().Set("Etag", strconv.Quote(strconv.FormatInt(time.Now().UnixNano(), 36)))
		http.ServeContent(w, r, "", time.Time{}, b.Reader())
	case "refuses": // requests for ranges, as the setting says
		if r.Header.Get("Range") == "" {
			http.ServeContent(w, r, "", modified(), b.Reader())
			return
		}
		s.refuseRange(w, r, b)
	case "gives": // no more than so many bytes at once
		var off, end, most int64
		_, _ = fmt.Sscan(s.setting("gives"), &most)
		if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &off, &end); n == 2 && end-off >= most {
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+most-1))
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "http10":
		s.oldServer(w, b)
	case "short": // the connection ends in the middle, every time
		s.raw(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nonly this", size))
	case "garbage":
		s.raw(w, "this is not HTTP\r\n\r\n")
	case "wrongrange":
		s.raw(w, fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-%d/%d\r\nContent-Length: %d\r\n\r\n", size-1, size, size-5))
	case "gzip":
		w.Header().Set("Content-Encoding", "gzip")
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		_, _ = io.Copy(zip, b.Reader())
		_ = zip.Close()
		http.ServeContent(w, r, "", modified(), bytes.NewReader(packed.Bytes()))
	case "hang": // after the first "hang" bytes of the object, until released
		if s.setting("ranges") == "off" {
			whole()
			return
		}
		if name := r.URL.Query().Get("as"); name != "" {
			w.Header().Set("Content-Disposition", "attachment; filename="+name)
		}
		http.ServeContent(w, r, "", modified(), s.hanging(b, r))
	case "auth":
		if user, pass, ok := r.BasicAuth(); !ok || user != "alice" || pass != password {
			w.Header().Set("Www-Authenticate", `Basic realm="here"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "status":
		w.WriteHeader(int(size))
	case "busy": // twice, then no longer
		s.mu.Lock()
		times, _ := strconv.Atoi(s.settings["busy"])
		s.settings["busy"] = strconv.Itoa(times + 1)
		s.mu.Unlock()
		if times < 2 {
			if after := s.setting("retry-after"); after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "to": // wherever the query says, with a password for PW
		w.Header().Set("Location", strings.ReplaceAll(r.URL.Query().Get("url"), "PW", password))
		w.WriteHeader(http.StatusFound)
	case "form": // for who posts what the setting says
		posted, _ := io.ReadAll(r.Body)
		if r.Method != http.MethodPost || string(posted) != s.setting("form") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		whole()
	case "method": // the one that the setting names
		if r.Method != s.setting("method") {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		whole()
	case "known": // for who has a certificate
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || r.TLS.PeerCertificates[0].Subject.CommonName != "alice" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "members": // for whom has the cookie that join gives
		if c, err := r.Cookie("sid"); err != nil || c.Value != password {
			w.Header().Set("Location", "/join/1/x?url="+url.QueryEscape(r.URL.Path))
			w.WriteHeader(http.StatusFound)
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "cookie": // one that is no secret
		w.Header().Set("Set-Cookie", "visible=yes")
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "join":
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: password, Path: "/members", HttpOnly: true})
		http.SetCookie(w, &http.Cookie{Name: "lang", Value: "en", Path: "/", MaxAge: 1000})
		w.Header().Set("Location", r.URL.Query().Get("url"))
		w.WriteHeader(http.StatusFound)
	case "named": // by the server, as the query says
		w.Header().Set("Content-Disposition", "attachment; filename=\""+r.URL.Query().Get("as")+"\"")
		w.Header().Set("Content-Location", "/"+r.URL.Query().Get("as"))
		w.Header().Set("Refresh", "0; url=/"+r.URL.Query().Get("as"))
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "endlessheader":
		s.flood(w, "HTTP/1.1 206 Partial Content\r\n", "X-Filler: "+strings.Repeat("x", 1000)+"\r\n")
	case "endlessline":
		s.flood(w, "HTTP/1.1 206 Partial Content\r\nX-Filler: ", strings.Repeat("x", 1000))
	case "endlessstatus":
		s.flood(w, "HTTP/1.1 206 ", strings.Repeat("x", 1000))
	case "endlesshints":
		s.flood(w, "", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
	case "release": // what hangs
		s.release()
		w.WriteHeader(http.StatusNotFound)
	case "loop":
		w.Header().Set("Location", r.URL.Path+"x")
		w.WriteHeader(http.StatusFound)
	case "escapes": // that would clear a terminal, in all that is shown
		s.raw(w, "HTTP/1.1 404 \x1b[2J\x1b]0;owned\x07\r\nContent-Length: 0\r\n\r\n")
	case "escaperedirect":
		s.raw(w, "HTTP/1.1 302 \x1b[2JFound\r\nLocation: file:///\x1b[2J\x9b31m\r\nContent-Length: 0\r\n\r\n")
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// refuseRange answers a request for a range in one of the ways of servers that cannot.
func (s *site) refuseRange(w http.ResponseWriter, r *http.Request, b testbody.Body) {
	how := s.setting("refuses")
	part := func(contentRange string) {
		if contentRange != "" {
			w.Header().Set("Content-Range", contentRange)
		}
		w.Header().Set("Content-Length", strconv.FormatInt(b.Size, 10))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.Copy(w, b.Reader())
	}
	switch how {
	case "beyond": // an end that lies behind the object's
		var off, last int64
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &off, &last); err != nil || last >= b.Size {
			http.Error(w, "bad range", http.StatusBadRequest)
			return
		}
		http.ServeContent(w, r, "", modified(), b.Reader())
	case "hangup":
		panic(http.ErrAbortHandler)
	case "multipart":
		w.Header().Set("Content-Type", "multipart/byteranges; boundary=x")
		part("")
	case "bare":
		part("")
	case "star":
		part(fmt.Sprintf("bytes 0-%d/*", b.Size-1))
	case "unit":
		part(fmt.Sprintf("items 0-%d/%d", b.Size-1, b.Size))
	case "other":
		part(fmt.Sprintf("bytes 7-%d/%d", b.Size+6, b.Size+7))
	case "200":
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", b.Size-1, b.Size+1))
		_, _ = io.Copy(w, b.Reader())
	default:
		status, _ := strconv.Atoi(how)
		http.Error(w, "no ranges", status)
	}
}

// flusher sends every write at once, so that no length can be known.
type flusher struct{ w http.ResponseWriter }

func (f flusher) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	_ = http.NewResponseController(f.w).Flush()
	return n, err
}

// raw sends what is not quite HTTP, and hangs up.
func (s *site) raw(w http.ResponseWriter, text string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	_, _ = io.WriteString(conn, text)
	_ = conn.Close()
}

// flood sends first and then the rest again and again, until the client has gone.
func (s *site) flood(w http.ResponseWriter, first, rest string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusTeapot)
		return
	}
	for text := first; err == nil; text = rest {
		_, err = io.WriteString(conn, text)
	}
	_ = conn.Close()
}

// oldServer speaks HTTP/1.0: the end of the connection is the end of the body.
func (s *site) oldServer(w http.ResponseWriter, b testbody.Body) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.0 200 OK\r\nServer: old\r\n\r\n")
	_, _ = io.Copy(conn, b.Reader())
	_ = conn.Close()
}

// hanging is the body, of which only the first bytes come before release.
func (s *site) hanging(b testbody.Body, r *http.Request) io.ReadSeeker {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, _ := strconv.ParseInt(s.settings["hang"], 10, 64)
	return &hanging{SectionReader: b.Reader(), limit: limit, released: s.released, gone: r.Context().Done()}
}

type hanging struct {
	*io.SectionReader
	limit    int64
	released <-chan struct{}
	gone     <-chan struct{}
}

func (h *hanging) Read(p []byte) (int, error) {
	at, err := h.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	if at < h.limit {
		return h.SectionReader.Read(p[:min(int64(len(p)), h.limit-at)])
	}
	select {
	case <-h.released:
	case <-h.gone:
		return 0, io.ErrUnexpectedEOF
	}
	return h.SectionReader.Read(p)
}

// tunnel answers CONNECT: whatever the name, the site over TLS is behind it.
func (s *site) tunnel(w http.ResponseWriter) {
	u, err := url.Parse(s.secure.URL)
	if err != nil {
		return
	}
	there, err := net.Dial("tcp", u.Host)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = there.Close()
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(there, here)
		_ = there.Close()
	}()
	go func() {
		_, _ = io.Copy(here, there)
		_ = here.Close()
	}()
}
