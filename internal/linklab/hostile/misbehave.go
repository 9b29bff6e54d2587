package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"strconv"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// interimFew is how many 103 a well-meaning server might send.
const interimFew = 3

// misbehave answers a request that the fault hits; false: as usual.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, q asked) bool {
	a := answer{body: s.Object(q.n), other: s.changed.Load(), set: http.Header{}}
	size := a.body.Size
	claim := func(off, end, total int64) string { return fmt.Sprintf("bytes %d-%d/%d", off, end-1, total) }
	switch s.cfg.Fault.Kind {
	case WrongStart:
		const by = 8
		a.contentRange, a.shift = claim(q.off+by, q.end, size), by
	case WrongEnd:
		short := max(1, (q.end-q.off)/2)
		a.contentRange, a.length = claim(q.off, q.off+short, size), short
	case WrongTotal:
		a.contentRange = claim(q.off, q.end, size+1000)
	case NoContentRange:
		a.bare = true
	case EmptyPart:
		h := w.Header()
		h.Set("Content-Range", claim(q.off, q.end, size))
		h.Set("Etag", etag(a.body))
		h.Set("Content-Length", "0")
		w.WriteHeader(http.StatusPartialContent)
		return true
	case WholeForRange:
		a.whole = true
	case OtherObject:
		a.body, a.other = Nth(s.cfg.Other, q.n), true
		a.body.Size = size
	case Corrupt:
		a.set.Set("Etag", etag(a.body))
		a.body = testbody.Body{Size: size, Seed: a.body.Seed + 1000}
	case WeakETag:
		a.set.Set("Etag", "W/"+etag(a.body))
		a.set.Set("Last-Modified", modified(a.other).Format(http.TimeFormat))
	case EdgeETag:
		a.set.Set("Etag", strconv.Quote(q.edge.String()))
		a.set.Set("Last-Modified", modified(a.other).Format(http.TimeFormat))
	case NoValidators:
		a.set.Set("Etag", "")
	case Multipart:
		s.multipart(w, q, a)
		return true
	case Gzip:
		s.gzip(w, q, a)
		return true
	case ChunkedPart:
		a.chunked = true
	case ChunkedWhole:
		a.chunked, a.whole = true, true
	case Interim:
		for range interimFew {
			w.WriteHeader(http.StatusEarlyHints)
		}
	case InterimFlood:
		for q.ctx.Err() == nil && s.pause(q.ctx, time.Microsecond) {
			w.WriteHeader(http.StatusEarlyHints)
		}
		panic(http.ErrAbortHandler)
	case CutCache:
		a.set.Set("Etag", etag(a.body))
		a.set.Set("Last-Modified", modified(a.other).Format(http.TimeFormat))
		a.body.Size = size * 3 / 5
	case CloseEach:
		a.set.Set("Connection", "close")
	case Mute:
		s.pause(q.ctx, time.Hour)
		panic(http.ErrAbortHandler)
	default:
		return s.instead(w, r, q)
	}
	s.answer(w, q, a)
	return true
}

// instead answers with something that is not the object.
func (s *Server) instead(w http.ResponseWriter, r *http.Request, q asked) bool {
	status := 0
	switch s.cfg.Fault.Kind {
	case EndlessRedirects:
		http.Redirect(w, r, loop+Name(1), http.StatusFound)
		return true
	case RedirectLoop:
		http.Redirect(w, r, r.URL.String(), http.StatusFound)
		return true
	case RedirectFile:
		w.Header().Set("Location", "file:///etc/passwd")
		w.WriteHeader(http.StatusFound)
		return true
	case PortalPage:
		login(w)
		return true
	case PortalRedirect:
		http.Redirect(w, r, portal, http.StatusFound)
		return true
	case EdgeURL:
		if way, n, _ := parsePath(r.URL.Path); way != ofEdge {
			http.Redirect(w, r, ofEdge+Name(n)+"?"+q.edge.String(), http.StatusFound)
			return true
		}
		return false
	case Status401:
		status = http.StatusUnauthorized
	case Status403:
		status = http.StatusForbidden
	case Status404:
		status = http.StatusNotFound
	case Status416:
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", s.Object(q.n).Size))
		status = http.StatusRequestedRangeNotSatisfiable
	case Status429:
		w.Header().Set("Retry-After", "1")
		status = http.StatusTooManyRequests
	case Status500:
		status = http.StatusInternalServerError
	case Status503:
		w.Header().Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
		status = http.StatusServiceUnavailable
	case RetryLong:
		w.Header().Set("Retry-After", "600")
		status = http.StatusServiceUnavailable
	default:
		return s.lies(w, q) || s.strange(w, r, q)
	}
	http.Error(w, "so it is", status)
	return true
}

// login is what a captive portal shows.
func login(w http.ResponseWriter) {
	const page = "<!doctype html><title>Welcome</title><form>Room <input name=room> <button>Log in</button></form>\n"
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, page) // whoever does not want it has gone
}

// multipart sends the range as the only part of several.
func (s *Server) multipart(w http.ResponseWriter, q asked, a answer) {
	part := make([]byte, min(bite, q.end-q.off))
	n, _ := a.body.ReadAt(part, q.off)
	var b bytes.Buffer
	mw := multipart.NewWriter(&b)
	to, err := mw.CreatePart(textproto.MIMEHeader{
		"Content-Type":  {"application/octet-stream"},
		"Content-Range": {fmt.Sprintf("bytes %d-%d/%d", q.off, q.off+int64(n)-1, a.body.Size)},
	})
	if err == nil {
		_, err = to.Write(part[:n])
	}
	if err != nil || mw.Close() != nil {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Set("Content-Type", "multipart/byteranges; boundary="+mw.Boundary())
	h.Set("Etag", etag(a.body))
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(http.StatusPartialContent)
	s.writeAll(w, b.Bytes())
}

// gzip compresses what was asked for plain, with the header of the plain range.
func (s *Server) gzip(w http.ResponseWriter, q asked, a answer) {
	part := make([]byte, min(bite, q.end-q.off))
	n, _ := a.body.ReadAt(part, q.off)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(part[:n]); err != nil || z.Close() != nil {
		panic(http.ErrAbortHandler)
	}
	h := w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", q.off, q.end-1, a.body.Size))
	h.Set("Etag", etag(a.body))
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(http.StatusPartialContent)
	s.writeAll(w, b.Bytes())
}

func (s *Server) writeAll(w http.ResponseWriter, b []byte) {
	if _, err := w.Write(b); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// remoteOf is a request's client.
func remoteOf(r *http.Request) net.Addr {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		return c.RemoteAddr()
	}
	return nil
}

// connOf is a request's connection.
func connOf(ctx context.Context) *trackedConn {
	switch c := ctx.Value(connKey{}).(type) {
	case *trackedConn:
		return c
	case *tls.Conn:
		if t, ok := c.NetConn().(*trackedConn); ok {
			return t
		}
	}
	return nil
}
