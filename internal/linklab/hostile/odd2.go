package hostile

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/mlget/mlget/internal/testbody"
)

// odd is what an HTTP/2 server sends before an answer, or as a wrong one; false:
// a right one follows.
func (h *raw2Conn) odd(st *raw2Stream, q asked, b testbody.Body) bool {
	const unknown = http2.FrameType(0xbb)
	switch h.s.cfg.Fault.Kind {
	case UnframedEnd:
		h.unframed(st, q, b, partFields(q, b)...)
	case WholeUnframedEnd:
		q.off, q.end = 0, b.Size
		h.unframed(st, q, b, ":status", "200")
	case BigSettings:
		_ = h.write(func() error { return h.fr.WriteSettings(bigSettings()...) })
		return false
	case NoStreams:
		_ = h.settings(http2.SettingMaxConcurrentStreams, 0)
		return false
	case UnknownFrames:
		const few = 10
		for range few {
			_ = h.write(func() error { return h.fr.WriteRawFrame(unknown, 0xff, st.id, make([]byte, 100)) })
		}
		return false
	case Trailers:
		return false // it ends with them
	case UnknownFlood:
		const many = 1 << 20
		h.flood(many, func(int) error { return h.fr.WriteRawFrame(unknown, 0xff, st.id, make([]byte, 100)) })
	case BadSettings:
		_ = h.settings(http2.SettingInitialWindowSize, 1<<31)
	case PushPromise:
		_ = h.write(func() error {
			return h.fr.WritePushPromise(http2.PushPromiseParam{StreamID: st.id, PromiseID: 2, BlockFragment: []byte{0x82, 0x84}, EndHeaders: true})
		})
	case RapidReset:
		_ = h.header(st, false, partFields(q, b)...)
		_ = h.write(func() error { return h.fr.WriteRSTStream(st.id, http2.ErrCodeCancel) })
	case ZeroUpdate:
		_ = h.write(func() error { return h.fr.WriteWindowUpdate(st.id, 0) })
	case WindowOverflow:
		for range 2 {
			_ = h.write(func() error { return h.fr.WriteWindowUpdate(0, math.MaxInt32) })
		}
	case HeaderBomb:
		h.bomb(st)
	case TwoStatuses:
		_ = h.header(st, false, ":status", "206", ":status", "200")
	case DataFirst:
		_ = h.write(func() error { return h.fr.WriteData(st.id, false, []byte("first")) })
	default:
		return false
	}
	return true
}

func (h *raw2Conn) settings(id http2.SettingID, v uint32) error {
	return h.write(func() error { return h.fr.WriteSettings(http2.Setting{ID: id, Val: v}) })
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

// unframed sends an answer whose end END_STREAM alone tells, too early.
func (h *raw2Conn) unframed(st *raw2Stream, q asked, b testbody.Body, fields ...string) {
	if h.header(st, false, fields...) != nil {
		return
	}
	if h.s.send(&raw2Writer{h: h, st: st}, q, b, q.off, q.off+shortOf(q.end-q.off)) == nil {
		_ = h.write(func() error { return h.fr.WriteData(st.id, true, nil) })
	}
}

// bomb sends a header block of some kilobytes that is one of tens of megabytes,
// since one entry of its table comes again and again.
func (h *raw2Conn) bomb(st *raw2Stream) {
	const entry, times = 3900, 8000
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	_ = e.WriteField(hpack.HeaderField{Name: ":status", Value: "206"}) // to memory
	for range times {
		_ = e.WriteField(hpack.HeaderField{Name: "x-bomb", Value: strings.Repeat("x", entry)})
	}
	_ = h.write(func() error {
		return h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: st.id, BlockFragment: block.Bytes(), EndHeaders: true})
	})
}
