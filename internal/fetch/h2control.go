package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

// control reads and obeys a frame other than DATA, all of which is ahead.
func (hc *h2Conn) control() error {
	hc.mu.Lock()
	hc.idle.frame()
	flood := hc.idle.isFlood()
	hc.mu.Unlock()
	if flood {
		return broken(http2.ErrCodeEnhanceYourCalm, "flood of frames without use")
	}
	hc.in.left = maxHeaderBytes
	frame, err := hc.frames.ReadFrame()
	if err != nil {
		return hc.malformed(err)
	}
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		return hc.headers(f)
	case *http2.SettingsFrame:
		return hc.settings(f)
	case *http2.PingFrame:
		hc.pinged(f)
	case *http2.GoAwayFrame:
		hc.goodbye(f)
	case *http2.RSTStreamFrame:
		return hc.wasReset(f)
	case *http2.WindowUpdateFrame:
		return hc.widened(f)
	case *http2.PushPromiseFrame:
		return broken(http2.ErrCodeProtocol, "server pushes, which it was told not to")
	}
	return nil // unknown ones must be ignored, and priorities are a server's business
}

// malformed says what it means that a frame could not be read.
func (hc *h2Conn) malformed(err error) error {
	detail := hc.frames.ErrorDetail()
	if detail == nil {
		detail = err
	}
	var stream http2.StreamError
	var whole http2.ConnectionError
	switch {
	case errors.Is(err, errHeaderTooLarge):
		return &http2Error{http2.ErrCodeEnhanceYourCalm, headerTooLarge()}
	case hc.in.torn:
		return err
	case errors.As(err, &stream):
		return hc.breakOff(stream.StreamID, stream.Code, protocolError("malformed response: %w", detail))
	case errors.As(err, &whole):
		return broken(http2.ErrCode(whole), "%w", detail)
	}
	return broken(http2.ErrCodeProtocol, "malformed frame: %w", err)
}

func headerTooLarge() *Error {
	return protocolError("%w (over %d KiB)", errHeaderTooLarge, maxHeaderBytes>>10)
}

// headers takes a response's header, an interim one, or trailers.
func (hc *h2Conn) headers(f *http2.MetaHeadersFrame) error {
	hc.mu.Lock()
	s := hc.streamLocked(f.StreamID)
	switch {
	case s == nil && hc.unopenedLocked(f.StreamID):
		hc.mu.Unlock()
		return broken(http2.ErrCodeProtocol, "header on stream %d, which is not open", f.StreamID)
	case s == nil:
		hc.mu.Unlock()
		return nil // on its way when we reset the stream
	case s.ended:
		hc.mu.Unlock()
		return broken(http2.ErrCodeStreamClosed, "header after the end of stream %d", f.StreamID)
	}
	err := s.headersLocked(f)
	hc.mu.Unlock()
	if err != nil {
		return hc.breakOff(f.StreamID, http2.ErrCodeProtocol, err)
	}
	return nil
}

// headersLocked takes the headers of a stream that is open; mu is held.
func (s *h2Stream) headersLocked(f *http2.MetaHeadersFrame) *Error {
	if f.Truncated {
		return headerTooLarge()
	}
	if s.header != nil {
		if !f.StreamEnded() || len(f.PseudoFields()) > 0 {
			return protocolError("malformed trailers")
		}
		s.ended = true
		s.wakeLocked()
		return nil
	}
	h, err := responseOf(f, s.req) //nolint:bodyclose // it has none; the stream is what is read
	if err != nil {
		return err
	}
	if h.StatusCode < http.StatusOK {
		s.interim++
		switch {
		case h.StatusCode == http.StatusSwitchingProtocols:
			return protocolError("server switches protocols unasked")
		case f.StreamEnded():
			return protocolError("interim response without a final one")
		case s.interim > maxInterim:
			return protocolError("more than %d interim responses", maxInterim)
		}
		return nil
	}
	hc := s.hc
	hc.used = true
	hc.idle.pay(responseWorth)
	hc.pace.sample(time.Since(s.sent))
	s.header, s.left, s.rest, s.ended = h, h.ContentLength, h.ContentLength, f.StreamEnded()
	s.wakeLocked()
	return nil
}

// settings applies the server's settings that concern a client without request bodies.
func (hc *h2Conn) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		hc.mu.Lock()
		defer hc.mu.Unlock()
		if !hc.sent.IsZero() {
			hc.pace.sample(time.Since(hc.sent))
			hc.sent = time.Time{}
		}
		return nil
	}
	hc.greeted = true
	table, haveTable := uint32(0), false
	err := f.ForeachSetting(func(v http2.Setting) error {
		if err := v.Valid(); err != nil {
			return broken(http2.ErrCodeProtocol, "invalid setting %v", v)
		}
		switch v.ID {
		case http2.SettingEnablePush:
			if v.Val != 0 {
				return broken(http2.ErrCodeProtocol, "server wants to be pushed to")
			}
		case http2.SettingMaxConcurrentStreams:
			hc.mu.Lock()
			hc.limit = v.Val
			hc.mu.Unlock()
		case http2.SettingHeaderTableSize:
			table, haveTable = v.Val, true
		default: // about request bodies, or unknown
		}
		return nil
	})
	if err != nil {
		return err
	}
	hc.sending(hc.out.acknowledge(table, haveTable))
	return nil
}

// pinged answers a PING, or takes the answer to ours.
func (hc *h2Conn) pinged(f *http2.PingFrame) {
	if !f.IsAck() {
		hc.sending(hc.out.pong(f.Data))
		return
	}
	hc.mu.Lock()
	defer hc.mu.Unlock()
	hc.pace.answered(time.Now())
}

// goodbye ends the streams that the server says it has not looked at.
func (hc *h2Conn) goodbye(f *http2.GoAwayFrame) {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	hc.goneAway = true
	for i := 0; i < len(hc.streams); {
		if s := hc.streams[i]; s.id > f.LastStreamID {
			s.failLocked(fmt.Errorf("%w: server takes no more requests on it (%v)", errResend, f.ErrCode))
			continue // it is no longer in the list
		}
		i++
	}
}

// wasReset ends a stream that the server has reset.
func (hc *h2Conn) wasReset(f *http2.RSTStreamFrame) error {
	hc.mu.Lock()
	defer hc.mu.Unlock()
	s := hc.streamLocked(f.StreamID)
	switch {
	case s == nil && hc.unopenedLocked(f.StreamID):
		return broken(http2.ErrCodeProtocol, "reset of stream %d, which is not open", f.StreamID)
	case s == nil || s.ended:
		return nil
	}
	s.failLocked(resetError(f.ErrCode))
	return nil
}

// widened counts what the server lets us send, only to see that it keeps the rules.
func (hc *h2Conn) widened(f *http2.WindowUpdateFrame) error {
	const most = 1<<31 - 1
	hc.mu.Lock()
	if f.StreamID == 0 {
		defer hc.mu.Unlock()
		if hc.sendCredit += int64(f.Increment); hc.sendCredit > most {
			return broken(http2.ErrCodeFlowControl, "window beyond 2^31-1")
		}
		return nil
	}
	s := hc.streamLocked(f.StreamID)
	unopened := s == nil && hc.unopenedLocked(f.StreamID)
	if s != nil {
		s.sendCredit += int64(f.Increment)
	}
	over := s != nil && s.sendCredit > most
	hc.mu.Unlock()
	switch {
	case unopened:
		return broken(http2.ErrCodeProtocol, "window of stream %d, which is not open", f.StreamID)
	case over:
		return hc.breakOff(f.StreamID, http2.ErrCodeFlowControl, protocolError("http/2: window beyond 2^31-1"))
	}
	return nil
}

// unopenedLocked reports whether a stream that is not open never was; mu is held.
func (hc *h2Conn) unopenedLocked(id uint32) bool { return id%2 == 0 || id >= hc.nextID }

// failLocked ends the stream with err, and forgets it; what the server sends on
// it from now on is stray. mu is held.
func (s *h2Stream) failLocked(err error) {
	s.err = err
	s.hc.forgetLocked(s)
	s.hc.strays += max(s.credit, 0)
	s.wakeLocked()
}

// breakOff resets a stream because of what the server sent on it.
func (hc *h2Conn) breakOff(id uint32, code http2.ErrCode, err *Error) error {
	hc.mu.Lock()
	s := hc.streamLocked(id)
	if s != nil {
		s.failLocked(err)
	}
	unopened := hc.unopenedLocked(id)
	hc.mu.Unlock()
	switch {
	case s != nil:
		hc.sending(hc.out.reset(id, code))
	case unopened:
		return &http2Error{http2.ErrCodeProtocol, err}
	}
	return nil
}
