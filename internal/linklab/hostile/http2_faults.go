package hostile

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mlget/mlget/internal/testbody"
)

// Frames of a type that there is not, and how many are many.
const (
	unknownFrame = http2.FrameType(0xbb)
	manyFrames   = 1 << 20
)

// instead is what comes before an answer, or in its place; false: a right answer follows,
// perhaps one whose DATA are odd.
func (h *raw2Conn) instead(st *raw2Stream, q asked, b testbody.Body) bool {
	fr, part := h.fr, partFields(q, b)
	unknown := func(int) error { return fr.WriteRawFrame(unknownFrame, 0xff, st.id, make([]byte, 100)) }
	open := headers(st.id, []byte{0x88}, false) // ":status: 200", whose block goes on
	open.EndHeaders = false
	var frame func() error
	switch h.s.cfg.Fault.Kind {
	// A right answer follows.
	case BigSettings:
		_ = h.write(func() error { return fr.WriteSettings(bigSettings()...) })
		return false
	case NoStreams:
		_ = h.write(func() error { return fr.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams}) })
		return false
	case UnknownFrames:
		h.flood(10, unknown)
		return false

	// Floods.
	case PingFlood:
		h.flood(manyFrames, func(i int) error { return fr.WritePing(false, [8]byte{byte(i)}) })
	case SettingsFlood:
		h.flood(manyFrames, func(int) error { return fr.WriteSettings() })
	case UnknownFlood:
		h.flood(manyFrames, unknown)
	case ContinuationFlood:
		frame = func() error {
			err := fr.WriteHeaders(open)
			for i := 0; i < manyFrames/64 && err == nil; i++ {
				err = fr.WriteContinuation(st.id, false, bytes.Repeat([]byte{0x88}, 4096))
			}
			return err
		}
	case HeaderBomb:
		frame = func() error { return fr.WriteHeaders(headers(st.id, bomb(), false)) }

	// Answers that are none, or that end too early.
	case RSTRefused:
		frame = func() error { return fr.WriteRSTStream(st.id, http2.ErrCodeRefusedStream) }
	case RapidReset:
		_ = h.header(st, false, part...)
		frame = func() error { return fr.WriteRSTStream(st.id, http2.ErrCodeCancel) }
	case UnframedEnd:
		h.unframed(st, q, b, part...)
	case WholeUnframedEnd:
		q.off, q.end = 0, b.Size
		h.unframed(st, q, b, ":status", "200")

	// Frames that break the rules.
	case BadSettings:
		frame = func() error {
			return fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 31})
		}
	case PushPromise:
		frame = func() error {
			return fr.WritePushPromise(http2.PushPromiseParam{StreamID: st.id, PromiseID: 2, BlockFragment: []byte{0x82, 0x84}, EndHeaders: true})
		}
	case ZeroUpdate:
		frame = func() error { return fr.WriteWindowUpdate(st.id, 0) }
	case WindowOverflow:
		h.flood(2, func(int) error { return fr.WriteWindowUpdate(0, math.MaxInt32) })
	case DataFirst:
		frame = func() error { return fr.WriteData(st.id, false, []byte("first")) }
	case DataOnZero:
		frame = func() error { return fr.WriteRawFrame(http2.FrameData, 0, 0, []byte("nobody's")) }
	case HpackGarbage:
		frame = func() error { return fr.WriteHeaders(headers(st.id, bytes.Repeat([]byte{0xff}, 7), false)) }
	case SplitHeader:
		frame = func() error {
			if err := fr.WriteHeaders(open); err != nil {
				return err
			}
			return fr.WritePing(false, [8]byte{})
		}
	case EvenStream:
		_ = h.header(&raw2Stream{id: 2}, false, part...)
	case TwoStatuses:
		_ = h.header(st, false, ":status", "206", ":status", "200")
	case UpperNames:
		_ = h.header(st, false, append(part, "X-Upper", "yes")...)
	case NoStatus:
		_ = h.header(st, false, part[2:]...)
	default:
		return false
	}
	if frame != nil {
		_ = h.write(frame) // the client may have gone
	}
	return true
}

// flood sends frames until the connection ends.
func (h *raw2Conn) flood(most int, frame func(int) error) {
	for i := range most {
		if h.write(func() error { return frame(i) }) != nil {
			return
		}
		if i%64 == 0 && !h.s.pause(h.ctx, time.Millisecond) {
			return
		}
	}
}

// bigSettings fill a frame, and are all allowed.
func bigSettings() []http2.Setting {
	const most = 16384 / 6
	all := []http2.Setting{
		{ID: http2.SettingHeaderTableSize, Val: math.MaxUint32},
		{ID: http2.SettingMaxConcurrentStreams, Val: math.MaxUint32},
		{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32},
		{ID: http2.SettingMaxFrameSize, Val: 1<<24 - 1},
		{ID: http2.SettingMaxHeaderListSize, Val: math.MaxUint32},
	}
	for i := len(all); i < most; i++ {
		all = append(all, http2.Setting{ID: http2.SettingID(0x1000 + i), Val: math.MaxUint32})
	}
	return all
}

// partFields are the header of a part, but for its length.
func partFields(q asked, b testbody.Body) []string {
	return []string{":status", "206", "etag", etag(b), "content-range", fmt.Sprintf("bytes %d-%d/%d", q.off, q.end-1, b.Size)}
}

// unframed sends an answer without a length, and END_STREAM too early.
func (h *raw2Conn) unframed(st *raw2Stream, q asked, b testbody.Body, fields ...string) {
	if h.header(st, false, fields...) != nil {
		return
	}
	if h.s.send(&raw2Writer{h: h, st: st}, q, b, q.off, q.off+shortOf(q.end-q.off)) == nil {
		_ = h.write(func() error { return h.fr.WriteData(st.id, true, nil) })
	}
}

// bomb is a header block of some kilobytes that is one of tens of megabytes, since one
// entry of its table comes again and again.
func bomb() []byte {
	const entry, times = 3900, 8000
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	_ = e.WriteField(hpack.HeaderField{Name: ":status", Value: "206"}) // to memory
	for range times {
		_ = e.WriteField(hpack.HeaderField{Name: "x-bomb", Value: strings.Repeat("x", entry)})
	}
	return block.Bytes()
}

// spoilRaw2 is a fault in the middle of a stream's body, which goes on after some.
func (w *raw2Writer) spoilRaw2(kind Kind) error {
	h, id := w.h, w.st.id
	// goAway says that no stream above the last one of these will be served.
	goAway := func(last ...uint32) error {
		h.refuse, h.keep = true, last[len(last)-1]
		for _, n := range last {
			if err := h.fr.WriteGoAway(n, http2.ErrCodeNo, nil); err != nil {
				return err
			}
		}
		return nil
	}
	switch kind {
	case SettingsZero:
		return h.write(func() error {
			return h.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0},
				http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16384},
				http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 0})
		})
	case GoAway:
		return h.write(func() error { return goAway(h.last) })
	case GoAwayLower:
		return h.write(func() error { return goAway(id - 1) })
	case GoAwayTwice:
		return h.write(func() error { return goAway(1<<31-1, h.last) })
	case GoAwayError:
		_ = h.write(func() error { return h.fr.WriteGoAway(0, http2.ErrCodeEnhanceYourCalm, []byte("\x1b[2J")) })
		_ = h.c.Close()
	case RSTStream:
		_ = h.write(func() error { return h.fr.WriteRSTStream(id, http2.ErrCodeInternal) })
	case EarlyEnd, WholeEarlyEnd:
		_ = h.write(func() error { return h.fr.WriteData(id, true, nil) })
	case SecondHeader:
		_ = h.header(w.st, false, ":status", "206", "x-again", "yes")
	case WindowStarved:
		h.s.pause(h.ctx, time.Hour)
	case EmptyDataFlood:
		h.flood(4*manyFrames, func(int) error {
			if w.st.gone {
				return errEnded
			}
			return h.fr.WriteData(id, false, nil)
		})
	case BadFrame:
		_ = h.write(func() error { return h.fr.WriteRawFrame(http2.FrameData, 0, id, make([]byte, 1<<20)) })
		_ = h.c.Close()
	default:
		return nil
	}
	return errEnded
}

// behind is what follows a whole answer, as the kind wants it.
func (h *raw2Conn) behind(st *raw2Stream, k Kind) {
	_ = h.write(func() error {
		if err := h.fr.WriteData(st.id, true, nil); err != nil {
			return err
		}
		switch k {
		case ResetAfterEnd:
			return h.fr.WriteRSTStream(st.id, http2.ErrCodeNo)
		case LateData:
			return h.fr.WriteData(st.id, false, []byte("late"))
		default:
			return nil
		}
	})
}
