package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveRaw2 speaks HTTP/2 by itself with all clients.
func (s *Server) serveRaw2(l net.Listener) {
	config := s.srv.TLSConfig.Clone()
	config.NextProtos = []string{"h2"}
	s.wg.Go(func() {
		<-s.done
		_ = l.Close() // it ends Accept
	})
	for {
		c, err := l.Accept()
		if err != nil {
			s.keep(err)
			return
		}
		s.wg.Go(func() {
			tc := tls.Server(c, config)
			defer tc.Close() //nolint:errcheck // the client may have closed it
			if tc.HandshakeContext(context.Background()) == nil {
				s.raw2(tc)
			}
		})
	}
}

// raw2Conn is an HTTP/2 connection.
type raw2Conn struct {
	s      *Server
	c      net.Conn
	edge   netip.Addr
	ctx    context.Context // ends with the connection
	fr     *http2.Framer
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // of writing, and of what follows
	moved   *sync.Cond // a window has opened, or a stream has ended
	window  int64
	initial int64
	streams map[uint32]*raw2Stream
	last    uint32 // the highest stream
	refuse  bool   // streams above keep get none of it
	keep    uint32
}

type raw2Stream struct {
	id     uint32
	window int64
	gone   bool
}

// errEnded says that a stream or its connection is over.
var errEnded = errors.New("stream ended")

// raw2 serves a connection to its end.
func (s *Server) raw2(c net.Conn) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	h := &raw2Conn{
		s: s, c: c, edge: edgeOf(c.RemoteAddr()), fr: http2.NewFramer(c, c),
		window: 65535, initial: 65535, streams: map[uint32]*raw2Stream{},
	}
	h.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.fr.AllowIllegalWrites = true
	h.moved = sync.NewCond(&h.mu)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	var err error
	if s.cfg.Fault.Kind != NoSettings || !s.strike(h.edge) {
		err = h.write(func() error { return h.fr.WriteSettings() })
	}
	for err == nil {
		err = h.take()
	}
	h.cancel()
	h.mu.Lock()
	for _, st := range h.streams {
		st.gone = true
	}
	h.moved.Broadcast()
	h.mu.Unlock()
	_ = c.Close() // writers are waiting for it
	h.wg.Wait()
}

func (h *raw2Conn) write(f func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return f()
}

// take reads a frame and does what it says.
func (h *raw2Conn) take() error {
	f, err := h.fr.ReadFrame()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			for _, st := range h.streams {
				st.window += int64(v) - h.initial
			}
			h.initial = int64(v)
			h.moved.Broadcast()
		}
		return h.fr.WriteSettingsAck()
	case *http2.WindowUpdateFrame:
		if st := h.streams[f.StreamID]; st != nil {
			st.window += int64(f.Increment)
		} else if f.StreamID == 0 {
			h.window += int64(f.Increment)
		}
		h.moved.Broadcast()
	case *http2.RSTStreamFrame:
		if st := h.streams[f.StreamID]; st != nil {
			st.gone = true
			h.moved.Broadcast()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return h.fr.WritePing(true, f.Data)
		}
	case *http2.MetaHeadersFrame:
		st := &raw2Stream{id: f.StreamID, window: h.initial}
		h.streams[f.StreamID], h.last = st, f.StreamID
		path, rang := f.PseudoValue("path"), ""
		for _, field := range f.RegularFields() {
			if field.Name == "range" {
				rang = field.Value
			}
		}
		h.wg.Go(func() {
			h.answer(st, path, rang)
			h.mu.Lock()
			delete(h.streams, st.id)
			h.mu.Unlock()
		})
	}
	return nil
}

// header sends a header of an answer, with these fields.
func (h *raw2Conn) header(st *raw2Stream, end bool, fields ...string) error {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	return h.write(func() error { return h.fr.WriteHeaders(headers(st.id, b.Bytes(), end)) })
}

// headers are a frame with a whole header block.
func headers(stream uint32, block []byte, end bool) http2.HeadersFrameParam {
	return http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndStream: end, EndHeaders: true}
}

// answer serves a stream.
func (h *raw2Conn) answer(st *raw2Stream, path, rang string) {
	s := h.s
	s.cfg.Gate.reach(PlaceStart, h.edge, s.done)
	h.mu.Lock()
	refused := h.refuse && st.id > h.keep
	h.mu.Unlock()
	if refused {
		_ = h.write(func() error { return h.fr.WriteRSTStream(st.id, http2.ErrCodeRefusedStream) })
		return
	}
	way, n, ok := parsePath(path)
	if !ok || way != direct {
		_ = h.header(st, true, ":status", "404")
		return
	}
	b := s.Object(n)
	q := asked{ctx: h.ctx, edge: h.edge, n: n}
	q.off, q.end, q.part = parseRange(rang, b.Size)
	if s.knowsNoRanges(h.edge) {
		q.part = false
	}
	hit := !s.traits.InBody && !s.ofConnections() && s.strike(h.edge)
	if hit && h.instead(st, q, b) {
		return
	}
	fields := []string{":status", "206", "etag", etag(b), "accept-ranges", "bytes"}
	switch {
	case !q.part:
		q.off, q.end, fields[1] = 0, b.Size, "200"
	case q.off >= b.Size:
		_ = h.header(st, true, ":status", "416", "content-range", fmt.Sprintf("bytes */%d", b.Size))
		return
	default:
		fields = append(fields, "content-range", fmt.Sprintf("bytes %d-%d/%d", q.off, q.end-1, b.Size))
	}
	fields = append(fields, "content-length", fmt.Sprint(q.end-q.off))
	if h.header(st, false, fields...) != nil {
		return
	}
	w := &raw2Writer{h: h, st: st}
	if hit {
		w.kind = s.cfg.Fault.Kind
	}
	switch err := s.send(w, q, b, q.off, q.end); {
	case errors.Is(err, errCut):
		_ = h.write(func() error { return h.fr.WriteRSTStream(st.id, http2.ErrCodeInternal) })
	case err == nil && w.kind == OverLength:
		_, _ = w.Write(make([]byte, piece))
		fallthrough
	case err == nil && w.kind == Trailers:
		_ = h.header(st, true, "x-checked", "yes")
	case err == nil:
		h.behind(st, w.kind)
	}
}

// raw2Writer writes a stream's DATA.
type raw2Writer struct {
	h    *raw2Conn
	st   *raw2Stream
	kind Kind // how it is written
}

// Write sends b, as far as windows let it.
func (w *raw2Writer) Write(b []byte) (int, error) {
	done := 0
	for done < len(b) {
		n, err := w.some(b[done:])
		done += n
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// some sends a frame.
func (w *raw2Writer) some(b []byte) (int, error) {
	const padding, beside = 255, 1000
	h := w.h
	h.mu.Lock()
	defer h.mu.Unlock()
	cost := int64(1)
	if w.kind == WindowPadding {
		cost += padding + 1
	}
	for !w.st.gone && w.kind != WindowOverrun && min(h.window, w.st.window) < cost {
		h.moved.Wait()
	}
	if w.st.gone {
		return 0, errEnded
	}
	room := min(h.window, w.st.window, int64(len(b)))
	switch w.kind {
	case WindowOverrun:
		room = int64(len(b))
	case WindowPadding:
		room = min(room, h.window-padding-1, w.st.window-padding-1, beside)
		h.window -= padding + 1
		w.st.window -= padding + 1
	default:
	}
	h.window -= room
	w.st.window -= room
	if w.kind == WindowPadding {
		return int(room), h.fr.WriteDataPadded(w.st.id, false, b[:room], make([]byte, padding))
	}
	return int(room), h.fr.WriteData(w.st.id, false, b[:room])
}
