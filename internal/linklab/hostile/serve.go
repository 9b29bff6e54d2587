package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

const (
	// piece is how much of a body is written at a time.
	piece = 16 << 10
	// bite is how much of an answer comes before a fault in its body, so that
	// even one that always comes does not keep the download from getting on.
	bite = 400 << 10
)

// modified is the object's Last-Modified; that of the other one is a day later.
func modified(other bool) time.Time {
	t := time.Date(2019, time.May, 1, 12, 0, 0, 0, time.UTC)
	if other {
		t = t.AddDate(0, 0, 1)
	}
	return t
}

// asked is what a request asks for: [off, end), or everything.
type asked struct {
	ctx      context.Context
	edge     netip.Addr
	n        int // which object
	off, end int64
	part     bool
}

// parseRange reads "bytes=A-B" and "bytes=A-"; all else is everything.
func parseRange(v string, size int64) (off, end int64, ok bool) {
	first, last, ok := strings.Cut(strings.TrimPrefix(v, "bytes="), "-")
	if !ok {
		return 0, size, false
	}
	off, err := strconv.ParseInt(first, 10, 64)
	if err != nil || off < 0 {
		return 0, size, false
	}
	end = size
	if n, err := strconv.ParseInt(last, 10, 64); err == nil {
		end = min(size, n+1)
	}
	return off, end, true
}

// etag is that of a body.
func etag(b testbody.Body) string { return fmt.Sprintf(`"%x-%x"`, b.Seed+1, b.Size) }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	edge := edgeOf(remoteOf(r))
	if r.URL.Path == portal {
		login(w)
		return
	}
	way, n, ok := parsePath(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	switch way {
	case redirect:
		s.cfg.Gate.reach(PlaceRedirect, edge, s.done)
		http.Redirect(w, r, Path(n), http.StatusFound)
	case expiring:
		http.Redirect(w, r, s.signed(edge, n), http.StatusFound)
	case ofEdge:
		if r.URL.RawQuery != edge.String() {
			http.Error(w, "it is somebody else's", http.StatusForbidden)
			return
		}
		s.object(w, r, edge, n)
	case loop:
		http.Redirect(w, r, loop+Name(n+1), http.StatusFound)
	case signed:
		if s.expired(r, edge, n) {
			http.Error(w, "expired", http.StatusForbidden)
			return
		}
		s.object(w, r, edge, n)
	default:
		s.object(w, r, edge, n)
	}
}

// object answers a request for the object, well or badly.
func (s *Server) object(w http.ResponseWriter, r *http.Request, edge netip.Addr, n int) {
	s.cfg.Gate.reach(PlaceStart, edge, s.done)
	k := s.cfg.Fault.Kind
	hit := !s.traits.InBody && !s.ofConnections() && k != Expiring && k != RefuseMore && k != ResetMore && s.strike(edge)
	if hit && (k == ChangedETag || k == ChangedSize) {
		s.changed.Store(true)
	}
	q := asked{ctx: r.Context(), edge: edge, n: n}
	q.off, q.end, q.part = parseRange(r.Header.Get("Range"), s.Object(n).Size)
	if k == RefuseMore {
		serving := s.servingAt(edge)
		defer serving.Add(-1)
		if serving.Add(1) > 1 && s.strike(edge) {
			http.Error(w, "one at a time", http.StatusServiceUnavailable)
			return
		}
	}
	if hit && s.misbehave(w, r, q) {
		return
	}
	whole := s.knowsNoRanges(edge)
	s.answer(w, q, answer{body: s.Object(n), other: s.changed.Load(), whole: whole, chunked: whole && k == ChunksCut})
}

// ofConnections says whether the fault hits connections rather than answers.
func (s *Server) ofConnections() bool {
	return s.traits.TLS || s.traits.Conn || s.cfg.Fault.Kind == NoSettings
}

// knowsNoRanges says whether a client gets nothing but whole objects.
func (s *Server) knowsNoRanges(edge netip.Addr) bool {
	e := s.cfg.Fault.Edge
	return s.traits.Whole && !s.healed.Load() && (!e.IsValid() || e.Contains(edge))
}

// servingAt counts the requests of a client that are being served.
func (s *Server) servingAt(edge netip.Addr) *atomic.Int64 {
	n, _ := s.serving.LoadOrStore(edge, new(atomic.Int64))
	return n.(*atomic.Int64)
}

// answer is a good answer, or one that is bad in a little.
type answer struct {
	body         testbody.Body
	other        bool   // it is Other
	contentRange string // instead of the right one
	shift        int64  // a part begins so much later
	length       int64  // instead of the right Content-Length; 0: the right one
	whole        bool   // 200 with everything
	chunked      bool   // no Content-Length
	bare         bool   // no Content-Range
	set          http.Header
}

// answer sends the object or a part of it.
func (s *Server) answer(w http.ResponseWriter, q asked, a answer) {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Accept-Ranges", "bytes")
	if _, said := a.set["Etag"]; !said {
		h.Set("Etag", etag(a.body))
		h.Set("Last-Modified", modified(a.other).Format(http.TimeFormat))
	}
	for name, v := range a.set {
		if v[0] != "" {
			h[name] = v
		}
	}
	status, off, end := http.StatusPartialContent, q.off, q.end
	if a.whole || !q.part {
		status, off, end = http.StatusOK, 0, a.body.Size
	} else if off >= a.body.Size {
		h.Set("Content-Range", fmt.Sprintf("bytes */%d", a.body.Size))
		http.Error(w, "no such range", http.StatusRequestedRangeNotSatisfiable)
		return
	}
	end = min(end, a.body.Size)
	if status == http.StatusPartialContent && !a.bare {
		if a.contentRange == "" {
			a.contentRange = fmt.Sprintf("bytes %d-%d/%d", off, end-1, a.body.Size)
		}
		h.Set("Content-Range", a.contentRange)
	}
	if status == http.StatusPartialContent { // in a whole object no client could see it
		off += a.shift
	}
	switch {
	case a.chunked:
		defer flush(w)
	case a.length > 0:
		h.Set("Content-Length", strconv.FormatInt(a.length, 10))
		end = min(end, off+a.length)
	default:
		h.Set("Content-Length", strconv.FormatInt(max(0, end-off), 10))
	}
	w.WriteHeader(status)
	if a.chunked {
		flush(w)
	}
	if err := s.send(w, q, a.body, off, end); err != nil {
		panic(http.ErrAbortHandler) // closes the connection, or resets the stream
	}
}

// errCut says that a body was cut on purpose, errSent that all of it was sent.
var (
	errCut  = fmt.Errorf("cut: %w", io.ErrClosedPipe)
	errSent = errors.New("sent to its end")
)

// send writes [off, end) of a body, with what goes wrong in it.
func (s *Server) send(w io.Writer, q asked, b testbody.Body, off, end int64) error {
	buf := make([]byte, piece)
	begun := s.due(q.edge)
	before := min(int64(bite), (end-off)/2)
	for from := off; off < end; {
		n, err := b.ReadAt(buf[:min(int64(len(buf)), end-off)], off)
		if n == 0 {
			return err
		}
		if n, err = w.Write(buf[:n]); err != nil {
			return err
		}
		off += int64(n)
		s.cfg.Gate.reachBytes(s.sent.Add(int64(n)), s.done)
		switch {
		case s.traits.InBody && off-from >= before && s.strike(q.edge):
			if err := s.spoil(w, q, b, off, end); errors.Is(err, errSent) {
				return nil
			} else if err != nil {
				return err
			}
			before = end // once in each answer
		case !begun && !s.traits.InBody && !s.traits.Nature && s.due(q.edge) && !s.cut.Swap(true):
			if s.ofConnections() {
				s.conns.reset(s.cfg.Fault.Edge)
			}
			return errCut // the next request, or handshake, meets the fault
		}
	}
	return nil
}

// spoil is the fault in a body whose bytes from off on are still to come; an
// error ends it.
func (s *Server) spoil(w io.Writer, q asked, b testbody.Body, off, end int64) error {
	if raw, ok := w.(*raw2Writer); ok {
		return raw.spoilRaw2(s.cfg.Fault.Kind)
	}
	flush(w)
	switch s.cfg.Fault.Kind {
	case Truncated, WholeCut, ChunksCut:
		return errCut
	case Reset:
		if c := connOf(q.ctx); c != nil {
			c.reset()
		}
		return errCut
	case Stall:
		s.pause(q.ctx, time.Hour)
		return errCut
	case Drip:
		return s.trickle(w, q, b, off, end, 1)
	case Slow:
		return s.trickle(w, q, b, off, end, 10_000)
	default:
		return nil // not one in a body
	}
}

// trickle writes the rest of a body, n bytes each tenth of a second.
func (s *Server) trickle(w io.Writer, q asked, b testbody.Body, off, end int64, n int) error {
	buf := make([]byte, n)
	for off < end {
		if !s.pause(q.ctx, 100*time.Millisecond) {
			return errCut
		}
		k, err := b.ReadAt(buf[:min(int64(n), end-off)], off)
		if k == 0 {
			return err
		}
		if _, err := w.Write(buf[:k]); err != nil {
			return err
		}
		flush(w)
		off += int64(k)
	}
	return errSent
}

// flush sends what has been written, where w keeps it.
func flush(w io.Writer) {
	if r, ok := w.(http.ResponseWriter); ok {
		_ = http.NewResponseController(r).Flush() // the next write fails too
	}
}
