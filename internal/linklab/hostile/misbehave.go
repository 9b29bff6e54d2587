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
	"strings"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// misbehave answers a request that the fault hits; false: as usual.
func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, q asked) bool {
	a := answer{body: s.Object(q.n), other: s.changed.Load(), set: http.Header{}}
	if s.alter(&q, &a) {
		s.answer(w, q, a)
		return true
	}
	return s.misshape(w, q, a) || s.refuse(w, q) || s.redirect(w, r, q) || s.raw1(w, q)
}

// alter changes an answer in a little; false: it is not one of these faults.
func (s *Server) alter(q *asked, a *answer) bool {
	const smallAnswer = 64 << 10 // the most that a server with SmallAnswers gives of a range
	size := a.body.Size
	tag := func(etag string) {
		a.set.Set("Etag", etag)
		a.set.Set("Last-Modified", modified(a.other).Format(http.TimeFormat))
	}
	switch s.cfg.Fault.Kind {
	case WrongStart:
		const by = 8
		a.contentRange, a.shift = claim(q.off+by, q.end, size), by
	case WrongEnd:
		short := max(1, (q.end-q.off)/2)
		a.contentRange, a.length = claim(q.off, q.off+short, size), short
	case WrongTotal:
		a.contentRange = claim(q.off, q.end, size+1000)
	case RangeCase:
		a.contentRange = strings.Replace(claim(q.off, q.end, size), "bytes", "BYTES", 1)
	case RangeUnit:
		a.contentRange = strings.Replace(claim(q.off, q.end, size), "bytes", "items", 1)
	case RangeStar:
		a.contentRange = fmt.Sprintf("bytes */%d", size)
	case RangeSpaces:
		a.contentRange = fmt.Sprintf("bytes  %d - %d / %d", q.off, q.end-1, size)
	case NoContentRange:
		a.bare = true
	case WholeForRange:
		a.whole = true
	case ChunkedPart:
		a.chunked = true
	case ChunkedWhole:
		a.chunked, a.whole = true, true
	case CloseEach:
		a.set.Set("Connection", "close")
	case Identity:
		a.set.Set("Content-Encoding", "identity")

	// Another object, or another validator.
	case OtherObject:
		a.body, a.other = Nth(s.cfg.Other, q.n), true
		a.body.Size = size
	case Corrupt:
		a.set.Set("Etag", etag(a.body))
		a.body = testbody.Body{Size: size, Seed: a.body.Seed + 1000}
	case CutCache:
		tag(etag(a.body))
		a.body.Size = size * 3 / 5
	case WeakETag:
		tag("W/" + etag(a.body))
	case EdgeETag:
		tag(strconv.Quote(q.edge.String()))
	case ETagBare:
		tag(strings.Trim(etag(a.body), `"`))
	case ETagEach:
		a.set.Set("Etag", strconv.Quote(strconv.FormatInt(s.struck.Load(), 10)))
	case NoValidators:
		a.set.Set("Etag", "")
	case ModifiedBack:
		a.set.Set("Etag", "") // then there is only what follows
		a.set.Set("Last-Modified", modified(false).AddDate(0, 0, -1).Format(http.TimeFormat))
	case LateETags, DateThenETags:
		a.set.Set("Etag", "")
		if s.cfg.Fault.Kind == DateThenETags {
			a.set.Set("Last-Modified", modified(false).Format(http.TimeFormat))
		}
		if turn := s.struck.Load(); turn > 1 {
			if turn%2 == 0 {
				a.body = Nth(s.cfg.Other, q.n)
				a.body.Size = size
			}
			a.set.Set("Etag", etag(a.body))
		}

	// Another range than was asked for.
	case SmallAnswers:
		if q.part && q.off < size {
			q.end = min(q.end, q.off+smallAnswer)
		}
	case Swapped:
		now := *q
		if before := s.before.Swap(&now); before != nil && before.n == q.n {
			q.off, q.end, q.part = before.off, before.end, before.part
		}
	default:
		return false
	}
	return true
}

// claim is a Content-Range of [off, end).
func claim(off, end, total int64) string { return fmt.Sprintf("bytes %d-%d/%d", off, end-1, total) }

// misshape answers with something else than a range of the object, or with a range that is
// none of it; false: it is not one of these faults, or an answer as usual does.
func (s *Server) misshape(w http.ResponseWriter, q asked, a answer) bool {
	h, size := w.Header(), a.body.Size
	// short sends a few bytes with a status.
	short := func(status int, b []byte) bool {
		h.Set("Content-Length", strconv.Itoa(len(b)))
		w.WriteHeader(status)
		if _, err := w.Write(b); err != nil {
			panic(http.ErrAbortHandler)
		}
		return true
	}
	switch s.cfg.Fault.Kind {
	case EmptyPart:
		h.Set("Content-Range", claim(q.off, q.end, size))
		h.Set("Etag", etag(a.body))
		return short(http.StatusPartialContent, nil)
	case EmptyRange:
		h.Set("Content-Range", "bytes */0")
		return short(http.StatusRequestedRangeNotSatisfiable, nil)
	case EmptyWhole:
		return short(http.StatusOK, nil)
	case SmallPart:
		b := make([]byte, 100)
		n, _ := Nth(s.cfg.Other, q.n).ReadAt(b, 0)
		h.Set("Content-Range", claim(0, int64(n), int64(n)))
		return short(http.StatusPartialContent, b[:n])
	case Multipart: // the range as the only part of several
		part := some(q, a.body)
		var b bytes.Buffer
		mw := multipart.NewWriter(&b)
		to, err := mw.CreatePart(textproto.MIMEHeader{
			"Content-Type":  {"application/octet-stream"},
			"Content-Range": {claim(q.off, q.off+int64(len(part)), size)},
		})
		if err == nil {
			_, err = to.Write(part)
		}
		if err != nil || mw.Close() != nil {
			panic(http.ErrAbortHandler)
		}
		h.Set("Content-Type", "multipart/byteranges; boundary="+mw.Boundary())
		h.Set("Etag", etag(a.body))
		return short(http.StatusPartialContent, b.Bytes())
	case Gzip: // what was asked for plain, with the header of the plain range
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(some(q, a.body)); err != nil || z.Close() != nil {
			panic(http.ErrAbortHandler)
		}
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Range", claim(q.off, q.end, size))
		h.Set("Etag", etag(a.body))
		return short(http.StatusPartialContent, b.Bytes())
	case PartAsWhole:
		return q.off < size && s.mislabel(w, q, http.StatusOK, q.off, q.end)
	case WholeAsPart:
		return q.off < size && s.mislabel(w, q, http.StatusPartialContent, 0, size)
	case Interim:
		const few = 3 // as a well-meaning server might send
		for range few {
			w.WriteHeader(http.StatusEarlyHints)
		}
	case InterimFlood:
		for q.ctx.Err() == nil && s.pause(q.ctx, time.Microsecond) {
			w.WriteHeader(http.StatusEarlyHints)
		}
		panic(http.ErrAbortHandler)
	case PortalPage:
		login(w)
		return true
	case Mute:
		s.pause(q.ctx, time.Hour)
		panic(http.ErrAbortHandler)
	default:
	}
	return false
}

// some is the beginning of what was asked for.
func some(q asked, b testbody.Body) []byte {
	part := make([]byte, min(bite, q.end-q.off))
	n, _ := b.ReadAt(part, q.off)
	return part[:n]
}

// mislabel sends [off, end) under the range that was asked for.
func (s *Server) mislabel(w http.ResponseWriter, q asked, status int, off, end int64) bool {
	b := s.Object(q.n)
	end = min(end, b.Size)
	h := w.Header()
	h.Set("Etag", etag(b))
	h.Set("Last-Modified", modified(s.changed.Load()).Format(http.TimeFormat))
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Range", claim(q.off, min(q.end, b.Size), b.Size))
	h.Set("Content-Length", strconv.FormatInt(end-off, 10))
	w.WriteHeader(status)
	if s.send(w, q, b, off, end) != nil {
		panic(http.ErrAbortHandler)
	}
	return true
}

// login is what a captive portal shows.
func login(w http.ResponseWriter) {
	const page = "<!doctype html><title>Welcome</title><form>Room <input name=room> <button>Log in</button></form>\n"
	w.Header().Set("Content-Type", "text/html")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, page) // the client may have gone
}

// refuse answers with the status of a fault; false: it has none.
func (s *Server) refuse(w http.ResponseWriter, q asked) bool {
	k, h := s.cfg.Fault.Kind, w.Header()
	status := map[Kind]int{
		Status204: 204, Status304: 304, Status401: 401, Status403: 403, Status404: 404, Status412: 412, Status416: 416, Status429: 429,
		Status500: 500, Status503: 503, Status511: 511, RetryLong: 503, RetryOdd: 503,
		RangesRefused: 400, RangesForbidden: 403, RangesFail: 500,
	}[k]
	switch k {
	case Status204:
		w.WriteHeader(status)
		return true
	case Status304:
		h.Set("Etag", etag(s.Object(q.n)))
		w.WriteHeader(status)
		return true
	case Status416:
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", s.Object(q.n).Size))
	case Status429:
		h.Set("Retry-After", "1")
	case Status503:
		h.Set("Retry-After", time.Now().Add(time.Second).UTC().Format(http.TimeFormat))
	case RetryLong:
		h.Set("Retry-After", "600")
	case RetryOdd:
		odd := []string{"-5", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "0x10", ""}
		h.Set("Retry-After", odd[int(s.struck.Load())%len(odd)])
	case RangesRefused, RangesForbidden, RangesFail:
		if !q.part {
			return false
		}
	case RangesCut:
		if q.part {
			panic(http.ErrAbortHandler)
		}
	default:
	}
	if status != 0 {
		http.Error(w, "so it is", status)
	}
	return status != 0
}

// redirect leads somewhere else; false: the fault does not, or no more.
func (s *Server) redirect(w http.ResponseWriter, r *http.Request, q asked) bool {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	host, _, _ := net.SplitHostPort(r.Host)
	to := ""
	switch s.cfg.Fault.Kind {
	case EndlessRedirects:
		to = loop + Name(1)
	case RedirectLoop:
		to = r.URL.String()
	case RedirectFile:
		to = "file:///etc/passwd"
	case PortalRedirect:
		to = portal
	case EdgeURL:
		if way, n, _ := parsePath(r.URL.Path); way != ofEdge {
			to = ofEdge + Name(n) + "?" + q.edge.String()
		}
	case RedirectCookie:
		if _, err := r.Cookie("session"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
			to = r.URL.String()
		}
	case RedirectPingPong:
		if to = Path(q.n) + "?ping"; r.URL.RawQuery == "ping" {
			to = Path(q.n) + "?pong"
		}
	case RedirectPort:
		to = fmt.Sprintf("%s://%s%s", scheme, net.JoinHostPort(host, "9"), Path(q.n))
	case RedirectHole: // a network for documents (RFC 5737)
		to = fmt.Sprintf("%s://198.51.100.1%s", scheme, Path(q.n))
	case RedirectOdd:
		const again = "again"
		if r.URL.RawQuery == again {
			return false
		}
		w.Header().Set("Location", "./x/.././"+Name(q.n)+"?"+again+"#top?no") // http.Redirect would tidy it up
		w.WriteHeader(http.StatusPermanentRedirect)
		return true
	default:
	}
	if to != "" {
		http.Redirect(w, r, to, http.StatusFound)
	}
	return to != ""
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
