package adversary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2 is the server's side of a connection of HTTP/2, by prior knowledge.
type h2 struct {
	net  *Network
	c    *end
	wire *Wire
	edge int

	// writing is held, as by a mutex, while frames are written, which may take long: to wait
	// for a mutex would stop the bubble's clock.
	writing chan struct{}
	framer  *http2.Framer
	enc     *hpack.Encoder
	block   bytes.Buffer

	mu      sync.Mutex // of what follows
	window  int64      // of the connection
	initial int64      // of streams
	streams map[uint32]*h2stream
	changed chan struct{} // closed and renewed when a window grows or a stream ends
	open    int           // streams that are being answered
	last    uint32        // stream
	ending  bool          // no more streams are taken
	over    bool
}

type h2stream struct {
	window int64
	closed bool // it has ended
}

// serve2 is serve of HTTP/2.
func (n *Network) serve2(c *end, w *Wire, edge int) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
		return
	}
	s := &h2{
		net: n, c: c, wire: w, edge: edge, framer: http2.NewFramer(c, c),
		window: 65535, initial: 65535, streams: map[uint32]*h2stream{}, changed: make(chan struct{}), writing: make(chan struct{}, 1),
	}
	s.enc = hpack.NewEncoder(&s.block)
	s.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var handlers sync.WaitGroup
	defer handlers.Wait()
	defer func() {
		s.mu.Lock()
		s.over = true
		s.wake()
		s.mu.Unlock()
		c.reset()
	}()
	if s.write(func() error { return s.framer.WriteSettings() }) != nil {
		return
	}
	for {
		s.mu.Lock()
		if s.open == 0 && s.last > 0 {
			n.idle(c, edge)
		} else {
			_ = c.SetReadDeadline(time.Time{})
		}
		s.mu.Unlock()
		f, err := s.framer.ReadFrame()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.mu.Lock()
			busy := s.open > 0
			s.mu.Unlock()
			if busy {
				continue
			}
			_ = s.write(func() error { return s.framer.WriteGoAway(s.last, http2.ErrCodeNo, nil) })
			_ = c.Close()
		}
		if err != nil {
			return
		}
		s.mu.Lock()
		answer := s.take(f)
		s.mu.Unlock()
		if answer != nil {
			handlers.Go(answer)
		}
	}
}

// write calls f, which writes frames, when nobody else writes.
func (s *h2) write(f func() error) error {
	s.writing <- struct{}{}
	defer func() { <-s.writing }()
	return f()
}

// wake tells the handlers that something has changed.
func (s *h2) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// take takes a frame. What is to be done after it, if anything, is returned.
func (s *h2) take(f http2.Frame) (answer func()) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		if v, ok := f.Value(http2.SettingInitialWindowSize); ok {
			for _, st := range s.streams {
				st.window += int64(v) - s.initial
			}
			s.initial = int64(v)
		}
		answer = func() { _ = s.write(s.framer.WriteSettingsAck) }
	case *http2.PingFrame:
		if !f.IsAck() {
			answer = func() { _ = s.write(func() error { return s.framer.WritePing(true, f.Data) }) }
		}
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			s.window += int64(f.Increment)
		} else if st := s.streams[f.StreamID]; st != nil {
			st.window += int64(f.Increment)
		}
	case *http2.RSTStreamFrame:
		if st := s.streams[f.StreamID]; st != nil {
			s.close(st) // what it has still to write of it is for nobody
		}
	case *http2.MetaHeadersFrame:
		r := request{path: f.PseudoValue("path"), host: f.PseudoValue("authority")}
		for _, h := range f.RegularFields() {
			if h.Name == "range" {
				r.off, r.end, r.ranged = parseRange(h.Value)
			}
		}
		id, st := f.StreamID, &h2stream{window: s.initial}
		if s.ending {
			return func() { _ = s.write(func() error { return s.framer.WriteRSTStream(id, http2.ErrCodeRefusedStream) }) }
		}
		s.streams[id] = st
		a := s.net.answer(r, s.wire, s.edge)
		s.ending = a.last
		s.open++
		s.last = id
		answer = func() {
			s.answer(id, st, a)
			s.mu.Lock()
			s.close(st)
			if s.open--; s.open == 0 {
				s.net.idle(s.c, s.edge)
			}
			s.mu.Unlock()
		}
	}
	s.wake()
	return answer
}

// close notes that a stream has ended, by whichever side; with mu.
func (s *h2) close(st *h2stream) {
	if !st.closed {
		st.closed = true
		s.net.done(s.wire, s.edge)
	}
}

// answer sends an answer on a stream.
func (s *h2) answer(id uint32, st *h2stream, a *answer) {
	if !s.c.pause(a.delay) {
		return
	}
	if a.before != endWell {
		s.end(id, a.before)
		return
	}
	fields := []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(a.status)}, {Name: "date", Value: "Sat, 01 Jun 2024 10:00:00 GMT"}}
	for i := 0; i < len(a.header); i += 2 {
		fields = append(fields, hpack.HeaderField{Name: strings.ToLower(a.header[i]), Value: a.header[i+1]})
	}
	if a.length >= 0 && a.status != 204 {
		fields = append(fields, hpack.HeaderField{Name: "content-length", Value: fmt.Sprint(a.length)})
	}
	err := s.write(func() error {
		if a.last {
			if err := s.framer.WriteGoAway(id, http2.ErrCodeNo, nil); err != nil {
				return err
			}
		}
		s.block.Reset()
		for _, f := range fields {
			_ = s.enc.WriteField(f)
		}
		return s.framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: s.block.Bytes(), EndHeaders: true, EndStream: a.body == 0 && a.after == endWell,
		})
	})
	if err != nil {
		return
	}
	if a.body == 0 && a.after == endWell {
		return
	}
	buf := make([]byte, min(segmentSize, a.body))
	for sent := int64(0); sent < a.body; {
		k := s.allowed(st, min(int64(len(buf)), a.body-sent))
		if k == 0 {
			return
		}
		a.told.bytes(buf[:k], sent)
		sent += k
		err := s.write(func() error { return s.framer.WriteData(id, sent == a.body && a.after == endWell, buf[:k]) })
		if err != nil {
			return
		}
		a.told.sent(k)
	}
	if a.after != endWell {
		s.end(id, a.after)
	}
}

// allowed waits until bytes may be sent on a stream, at most n, and takes them from its
// windows; 0: it has ended.
func (s *h2) allowed(st *h2stream, n int64) int64 {
	for {
		s.mu.Lock()
		if st.closed || s.over {
			s.mu.Unlock()
			return 0
		}
		if k := min(n, s.window, st.window); k > 0 {
			s.window -= k
			st.window -= k
			s.mu.Unlock()
			return k
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
	}
}

// end ends a stream badly, or the connection.
func (s *h2) end(id uint32, how ending) {
	switch how {
	case endCancel:
		_ = s.write(func() error { return s.framer.WriteRSTStream(id, http2.ErrCodeInternal) })
	case endStall:
		// The stream stays as it is.
	case endReset:
		s.c.reset()
	default:
		_ = s.c.Close()
	}
}
