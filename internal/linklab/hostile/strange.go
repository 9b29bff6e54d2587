package hostile

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// strange answers with what is none of the usual faults.
func (s *Server) strange(w http.ResponseWriter, r *http.Request, q asked) bool {
	a := answer{body: s.Object(q.n), other: s.changed.Load(), set: http.Header{}}
	size := a.body.Size
	switch s.cfg.Fault.Kind {
	case PartAsWhole:
		if q.off >= size { // then it is a 416
			return false
		}
		s.mislabel(w, q, http.StatusOK, q.off, q.end)
		return true
	case WholeAsPart:
		if q.off >= size {
			return false
		}
		s.mislabel(w, q, http.StatusPartialContent, 0, size)
		return true
	case Swapped:
		now := q
		before := s.before.Swap(&now)
		if before == nil || before.n != q.n {
			return false
		}
		q.off, q.end, q.part = before.off, before.end, before.part
	case RangeCase:
		a.contentRange = fmt.Sprintf("BYTES %d-%d/%d", q.off, q.end-1, size)
	case RangeUnit:
		a.contentRange = fmt.Sprintf("items %d-%d/%d", q.off, q.end-1, size)
	case RangeStar:
		a.contentRange = fmt.Sprintf("bytes */%d", size)
	case RangeSpaces:
		a.contentRange = fmt.Sprintf("bytes  %d - %d / %d", q.off, q.end-1, size)
	case Identity:
		a.set.Set("Content-Encoding", "identity")
	case ModifiedBack:
		a.set.Set("Etag", "") // then there is only what follows
		a.set.Set("Last-Modified", modified(false).AddDate(0, 0, -1).Format(http.TimeFormat))
	case ETagBare:
		a.set.Set("Etag", strings.Trim(etag(a.body), `"`))
		a.set.Set("Last-Modified", modified(a.other).Format(http.TimeFormat))
	case ETagEach:
		a.set.Set("Etag", strconv.Quote(strconv.FormatInt(s.struck.Load(), 10)))
	default:
		return s.elsewhere(w, r, q)
	}
	s.answer(w, q, a)
	return true
}

// mislabel sends [off, end) under the range that was asked for.
func (s *Server) mislabel(w http.ResponseWriter, q asked, status int, off, end int64) {
	b := s.Object(q.n)
	end = min(end, b.Size)
	h := w.Header()
	h.Set("Etag", etag(b))
	h.Set("Last-Modified", modified(s.changed.Load()).Format(http.TimeFormat))
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", q.off, min(q.end, b.Size)-1, b.Size))
	h.Set("Content-Length", strconv.FormatInt(end-off, 10))
	w.WriteHeader(status)
	if s.send(w, q, b, off, end) != nil {
		panic(http.ErrAbortHandler)
	}
}

// elsewhere leads away, or says that there is nothing to be had.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request, q asked) bool {
	const again = "again"
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	host, _, _ := net.SplitHostPort(r.Host)
	to, status := "", http.StatusFound
	switch s.cfg.Fault.Kind {
	case RedirectCookie:
		if _, err := r.Cookie("session"); err == nil {
			return false
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1", Path: "/"})
		to = r.URL.String()
	case RedirectPingPong:
		if to = Path(q.n) + "?ping"; r.URL.RawQuery == "ping" {
			to = Path(q.n) + "?pong"
		}
	case RedirectPort:
		to = fmt.Sprintf("%s://%s%s", scheme, net.JoinHostPort(host, "9"), Path(q.n))
	case RedirectHole: // a network for documents (RFC 5737)
		to = fmt.Sprintf("%s://198.51.100.1%s", scheme, Path(q.n))
	case RedirectOdd:
		if r.URL.RawQuery == again {
			return false
		}
		to, status = "./x/.././"+Name(q.n)+"?"+again+"#top?no", http.StatusPermanentRedirect
	case Status204:
		status = http.StatusNoContent
	case Status304:
		w.Header().Set("Etag", etag(s.Object(q.n)))
		status = http.StatusNotModified
	case Status412:
		status = http.StatusPreconditionFailed
	case Status511:
		status = http.StatusNetworkAuthenticationRequired
	case RetryOdd:
		odd := []string{"-5", "soon", "Thu, 01 Jan 1970 00:00:00 GMT", "0x10", ""}
		w.Header().Set("Retry-After", odd[int(s.struck.Load())%len(odd)])
		status = http.StatusServiceUnavailable
	default:
		return s.raw1(w, q)
	}
	if to != "" {
		w.Header().Set("Location", to)
	}
	w.WriteHeader(status)
	return true
}
