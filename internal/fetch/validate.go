package fetch

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// asked is a request's range: [off, end), or the whole object when end is negative.
type asked struct {
	off, end int64
	turn     *Turn // nil: it has none to wait for
	first    bool  // nothing of the object has come yet
	plain    bool  // it goes without Range, and may bring the whole
	head     bool  // of the whole object, the header alone is asked for
}

// whole says whether the request is for the whole object, as it goes out.
func (a asked) whole() bool { return a.end < 0 || a.plain }

// check turns the header of a final response into a Response without a body, or
// says what is wrong with it.
func check(h *http.Response, a asked) (*Response, *Error) {
	if !bringsFile(h) {
		return nil, statusError(h)
	}
	r := &Response{Object: ObjectOf(h.Header), Page: isPage(h.Header)}
	r.Object.Encoding = encodingOf(h.Header)
	if h.StatusCode == http.StatusPartialContent && !a.whole() {
		got, err := checkPart(h, a)
		if err != nil {
			return nil, notThePart(err)
		}
		r.Off, r.End, r.pos = got.off, got.end, got.off
		r.Object.Size, r.Object.AcceptsRanges = got.total, true
		return r, nil
	}
	size, err := wholeSize(h, a.whole())
	switch {
	case err != nil && a.whole():
		return nil, err
	case err != nil:
		return nil, notThePart(err)
	}
	r.Whole, r.End, r.Object.Size = true, size, size
	if a.end >= 0 {
		// Despite its header: it has just ignored a range, or would refuse it.
		r.Object.AcceptsRanges = false
	}
	return r, nil
}

// bringsFile says whether a response's body is the object, or a part of it, by its status.
// As for wget and curl that is so of every success; but one that says "accepted", say, and
// has no body, says nothing of the object, whereas that of 200 is empty then.
func bringsFile(h *http.Response) bool {
	switch h.StatusCode {
	case http.StatusOK, http.StatusNonAuthoritativeInfo, http.StatusPartialContent:
		return true
	case http.StatusNoContent:
		return false
	}
	return h.StatusCode/100 == 2 && h.ContentLength != 0
}

// wholeSize is the size of the object in a response that has all of it; -1: unknown. A response
// that calls itself a part would, taken for the whole, give a truncated file. A malformed
// Content-Range counts as the requested range if one was requested. If the whole was requested,
// bytes from the first one on of an unknown total are taken for it, as in curl and wget.
func wholeSize(h *http.Response, wanted bool) (int64, *Error) {
	size := h.ContentLength
	for _, v := range h.Header.Values("Content-Range") {
		r, err := parseContentRange(v)
		switch {
		case r.unsatisfied, err != nil && wanted:
		case err != nil, r.off > 0, r.total >= 0 && r.end != r.total, r.total < 0 && !wanted, size >= 0 && size != r.end:
			return 0, protocolError("server sent content-range %q as if it were the whole object (%d)", v, h.StatusCode)
		default:
			size = r.end
		}
	}
	if isMultipart(h.Header) {
		return 0, errSeveralRanges()
	}
	return size, nil
}

func isMultipart(h http.Header) bool {
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return t == "multipart/byteranges"
}

func errSeveralRanges() *Error {
	return protocolError("server sent several ranges where one was asked for")
}

// isPage says whether a body says of itself to be HTML.
func isPage(h http.Header) bool {
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return t == "text/html" || t == "application/xhtml+xml"
}

// notThePart marks err as being about a response that is not the range that was asked for.
func notThePart(err *Error) *Error {
	err.Err = otherPart{err.Err}
	return err
}

type otherPart struct{ error }

func (e otherPart) Unwrap() error { return e.error }

// checkPart checks that a 206 holds what was asked for: one range, from the first byte
// asked on, and to the last, or less: a server may give a part of it only (RFC 9110, 15.3.7).
func checkPart(h *http.Response, a asked) (contentRange, *Error) {
	var none contentRange
	if isMultipart(h.Header) {
		return none, errSeveralRanges()
	}
	v := slices.Compact(slices.Clone(h.Header.Values("Content-Range")))
	if len(v) != 1 {
		return none, protocolError("206 with %d content-range headers", len(v))
	}
	got, err := parseContentRange(v[0])
	if err != nil || got.unsatisfied {
		return none, protocolError("%w: %q", errContentRange, v[0])
	}
	if got.off != a.off || got.end > a.end {
		return none, protocolError("asked for bytes [%d, %d), server sent %q", a.off, a.end, v[0])
	}
	if h.ContentLength >= 0 && h.ContentLength != got.end-got.off {
		return none, protocolError("content-length %d does not match content-range %q", h.ContentLength, v[0])
	}
	return got, nil
}

// serverTime is the server's clock at its answer, by which its dates are to be read: the local
// clock may be wrong by hours, or have been set meanwhile.
func serverTime(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

// statusError classifies a status without a file.
func statusError(h *http.Response) *Error {
	e := &Error{Class: Status, Status: h.StatusCode}
	switch h.StatusCode {
	case http.StatusUnauthorized:
		e.Class, e.Err = Auth, unauthorized(h, "Www-Authenticate")
	case http.StatusProxyAuthRequired:
		e.Class, e.Err = Auth, unauthorized(h, "Proxy-Authenticate")
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		e.Class = Busy
		e.RetryAfter = parseRetryAfter(h.Header.Get("Retry-After"), serverTime(h.Header))
	case http.StatusRequestedRangeNotSatisfiable:
		e.Class = Unsatisfied
		o := ObjectOf(h.Header)
		if r, err := parseContentRange(h.Header.Get("Content-Range")); err == nil && r.unsatisfied {
			o.Size = r.total
		}
		e.Object = &o
	default:
		if h.StatusCode < 300 {
			e.Class = Protocol
			e.Err = fmt.Errorf("server answered %d to a download, without a file", h.StatusCode)
		}
	}
	return e
}

// isRedirect reports whether a response sends the client elsewhere with a GET.
func isRedirect(h *http.Response) bool {
	switch h.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	case http.StatusMultipleChoices: // Location is the server's preferred choice (RFC 9110, 15.4.1)
		return h.Header.Get("Location") != ""
	}
	return false
}

// redirectTarget is where a redirect from base leads: http and https only
// (curl CVE-2009-0037). From https to http is allowed, as with curl -L.
func redirectTarget(h *http.Response, base *url.URL) (*url.URL, *Error) {
	loc := h.Header.Get("Location")
	if loc == "" {
		return nil, protocolError("redirect (%d) without a location", h.StatusCode)
	}
	loc = twoSlashes(loc)
	ref, err := url.Parse(loc)
	if err != nil {
		ref, err = url.Parse(escapePercent(loc)) // browsers go there
	}
	if err != nil {
		return nil, protocolError("redirect to a malformed url: %w", urlError(err))
	}
	ref.RawPath = escapePath(ref.RawPath) // before it is put together with base's
	to := base.ResolveReference(ref)
	if err := Tidy(to); err != nil {
		return nil, protocolError("redirect refused: %w", err)
	}
	return to, nil
}

// twoSlashes is a URL in which one slash, or three, between the scheme and the host have
// become two, as in curl and browsers.
func twoSlashes(loc string) string {
	scheme, rest, _ := strings.Cut(loc, ":")
	host := strings.TrimLeft(rest, "/")
	if n := len(rest) - len(host); n == 1 || n == 3 {
		if strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") {
			return scheme + "://" + host
		}
	}
	return loc
}
