package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	// maxSpreads is how many objects are spread at once; each may hold the engine's window of
	// 16 MiB. Others come over one link.
	maxSpreads = 8
	// leadBytes is how much of an object the first answer brings, over one link: what a link
	// of 20 Mbit/s carries in 100 ms, within which the engine has its first bytes. Chosen by hand.
	leadBytes = 256 << 10
	// leadBegin is after how many of these the engine begins: whoever only looks at the
	// beginning, or seeks on, does not wake all links.
	leadBegin = 64 << 10
	// drainTime bounds how long the rest of a lead is waited for that nobody wants any more.
	drainTime = 2 * time.Second
)

// Spreader brings parts of objects over all links.
type Spreader interface {
	// CanSpread says whether answers about an object can be told from those about another
	// version of it.
	CanSpread(answer http.Header, size int64) bool
	// Spread writes a part to w, in order.
	Spread(ctx context.Context, p *Part, w io.Writer) error
}

// Part is the bytes [Off, End) of an object that an answer has described.
type Part struct {
	URL      *url.URL
	Request  http.Header // to be sent again, but for what asks for a range
	Answer   http.Header // what the server said
	Size     int64       // of the object, bytes
	Off, End int64
	Only     netip.Addr // where its host is; not valid: where the name leads over each link
}

// spread makes an answer go on over all links after its first bytes, if it is worth it: it is
// a large one, of an object that has ranges and a validator.
func (s *Server) spread(r *http.Request, resp *http.Response, only netip.Addr) {
	p, ok := s.partOf(r, resp)
	if !ok || p.End-p.Off < s.config.Load().SpreadFrom || !s.takeSpread() {
		return
	}
	p.Only = only
	s.goOn(r, resp, p, min(leadBytes, p.End-p.Off), false)
}

// goOn makes the body of an answer to r the part p, of which the answer itself brings lead
// bytes. drain says that it has no more than these.
func (s *Server) goOn(r *http.Request, resp *http.Response, p *Part, lead int64, drain bool) {
	resp.Body = &spreadBody{server: s, ctx: r.Context(), part: *p, first: resp.Body, left: lead, drain: drain}
}

// mayBeSpread says whether anything is gained by spreading an answer to r.
func (s *Server) mayBeSpread(r *http.Request) bool {
	return s.config.Load().Spreader != nil && s.config.Load().SpreadFrom > 0 && r.Method == http.MethodGet && r.ContentLength == 0 && s.usable() > 1
}

// usable is how many links can be used.
func (s *Server) usable() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if !m.spent() {
			n++
		}
	}
	return n
}

// partOf is the part of an object that an answer brings.
func (s *Server) partOf(r *http.Request, resp *http.Response) (*Part, bool) {
	if !s.mayBeSpread(r) || resp.ContentLength <= 0 || len(resp.Trailer) > 0 || resp.Header.Get("Content-Encoding") != "" {
		return nil, false
	}
	p := &Part{URL: r.URL, Request: requestHeader(r), Answer: resp.Header, Size: resp.ContentLength, End: resp.ContentLength}
	switch resp.StatusCode {
	case http.StatusOK:
		if !strings.EqualFold(resp.Header.Get("Accept-Ranges"), "bytes") {
			return nil, false
		}
	case http.StatusPartialContent:
		var err error
		if p.Off, p.End, p.Size, err = parseContentRange(resp.Header.Get("Content-Range")); err != nil || p.End-p.Off != resp.ContentLength {
			return nil, false
		}
	default:
		return nil, false
	}
	return p, s.config.Load().Spreader.CanSpread(resp.Header, p.Size)
}

// requestHeader is what further requests for the same object have.
func requestHeader(r *http.Request) http.Header {
	h := r.Header.Clone()
	for _, name := range []string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		h.Del(name)
	}
	if r.Host != "" && r.Host != r.URL.Host {
		h.Set("Host", r.Host)
	}
	return h
}

var errContentRange = errors.New("it is no content-range of bytes")

// parseContentRange reads "bytes FIRST-LAST/SIZE" (RFC 9110, 14.4); end is behind the last byte.
func parseContentRange(text string) (off, end, size int64, err error) {
	unit, rest, _ := strings.Cut(text, " ")
	span, total, ok := strings.Cut(rest, "/")
	first, last, ok2 := strings.Cut(span, "-")
	if !strings.EqualFold(unit, "bytes") || !ok || !ok2 {
		return 0, 0, 0, errContentRange
	}
	for _, number := range []struct {
		to   *int64
		text string
	}{{&off, first}, {&end, last}, {&size, total}} {
		n, err := strconv.ParseUint(number.text, 10, 62)
		if err != nil {
			return 0, 0, 0, errContentRange
		}
		*number.to = int64(n)
	}
	if end++; off >= end || end > size {
		return 0, 0, 0, errContentRange
	}
	return off, end, size, nil
}

// parseRange reads a header that asks for one range from a byte on: "bytes=FIRST-[LAST]".
// end is behind the last byte; -1: that of the object. Other headers are not ok.
func parseRange(text string) (off, end int64, ok bool) {
	unit, span, _ := strings.Cut(text, "=")
	first, last, found := strings.Cut(strings.TrimSpace(span), "-")
	from, err := strconv.ParseUint(first, 10, 62)
	if !strings.EqualFold(unit, "bytes") || !found || err != nil {
		return 0, 0, false
	}
	if last == "" {
		return int64(from), -1, true
	}
	to, err := strconv.ParseUint(last, 10, 62)
	if err != nil || to < from {
		return 0, 0, false
	}
	return int64(from), int64(to) + 1, true
}

// shorten makes a request for a large range one for its first bytes, so that the connection
// can be used again when the client seeks on. end is that of the range that was asked for; -1:
// the object's.
func shorten(r *http.Request, from int64) (end int64, ok bool) {
	off, end, ok := parseRange(r.Header.Get("Range"))
	if !ok || len(r.Header["Range"]) != 1 || end >= 0 && end-off < from {
		return 0, false
	}
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+leadBytes-1))
	return end, true
}

// lengthen makes the answer to a shortened request that to the one before it. It is false where
// that cannot be: the request has to be sent as it was.
func (s *Server) lengthen(r *http.Request, resp *http.Response, end int64, only netip.Addr) bool {
	if resp.StatusCode != http.StatusPartialContent { // no range is served, or none is there
		s.spread(r, resp, only)
		return true
	}
	p, ok := s.partOf(r, resp)
	if !ok {
		return false
	}
	lead := p.End - p.Off
	if p.End = p.Size; end >= 0 {
		p.End = min(p.End, end)
	}
	if p.End-p.Off == lead {
		return true
	}
	if !s.takeSpread() {
		return false
	}
	p.Only = only
	p.Answer = resp.Header.Clone()
	resp.ContentLength = p.End - p.Off
	resp.Header.Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	resp.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", p.Off, p.End-1, p.Size))
	s.goOn(r, resp, p, lead, true)
	return true
}

// takeSpread reserves one of the places of objects that are spread.
func (s *Server) takeSpread() bool {
	select {
	case s.spreading <- struct{}{}:
		return true
	default:
		return false
	}
}

// Spreads is how many objects were spread over several links.
func (s *Server) Spreads() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spreads
}

// spreadBody is the body of an answer that goes on over all links. One goroutine uses it.
type spreadBody struct {
	server *Server
	ctx    context.Context // of the request
	part   Part
	first  io.ReadCloser // of the answer; nil: it has been closed
	left   int64         // bytes that are still to come of it
	drain  bool          // these are all it has
	read   int64         // bytes that have been read

	rest   *io.PipeReader // nil: it has not begun
	cancel context.CancelFunc
	closed bool
}

func (b *spreadBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		return b.readRest(p)
	}
	n, err := b.first.Read(p[:min(int64(len(p)), b.left)])
	b.read += int64(n)
	b.left -= int64(n)
	switch {
	case b.left == 0:
		b.closeFirst()
	case err != nil: // its link has failed, perhaps: the others know better
		if b.rest != nil {
			b.cancel()
			_ = b.rest.Close()
			b.rest = nil
		}
		b.left = 0
		b.closeFirst()
	}
	if b.rest == nil && (b.read >= leadBegin || b.left == 0) {
		b.begin()
	}
	return n, nil
}

func (b *spreadBody) readRest(p []byte) (int, error) {
	if b.rest == nil {
		return 0, io.EOF
	}
	return b.rest.Read(p)
}

// begin lets the rest come, if there is one: what is behind the lead.
func (b *spreadBody) begin() {
	part := b.part
	if part.Off += b.read + b.left; part.Off >= part.End {
		return
	}
	ctx, cancel := context.WithCancel(b.ctx)
	r, w := io.Pipe()
	b.rest, b.cancel = r, cancel
	s := b.server
	if !s.background(func() {
		defer cancel()
		_ = w.CloseWithError(s.config.Load().Spreader.Spread(ctx, &part, w)) // nil is the end
	}) {
		cancel()
		_ = w.CloseWithError(net.ErrClosed)
		return
	}
	s.mu.Lock()
	s.spreads++
	s.mu.Unlock()
}

// closeFirst ends the answer. A connection on which nothing else is to come is kept.
func (b *spreadBody) closeFirst() {
	first := b.first
	if b.first = nil; first == nil {
		return
	}
	if !b.drain {
		_ = first.Close()
		return
	}
	if !b.server.background(func() {
		defer time.AfterFunc(drainTime, func() { _ = first.Close() }).Stop()
		_, _ = io.Copy(io.Discard, first)
		_ = first.Close()
	}) {
		_ = first.Close()
	}
}

// Close ends it, wherever it stands.
func (b *spreadBody) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	b.closeFirst()
	if b.rest != nil {
		b.cancel()
		_ = b.rest.Close()
	}
	<-b.server.spreading
	return nil
}
