package hostile

import (
	"golang.org/x/net/http2"

	"github.com/mlget/mlget/internal/testbody"
)

// strange is what an HTTP/2 server sends instead of an answer; false: a right one
// follows, perhaps with something behind it.
func (h *raw2Conn) strange(st *raw2Stream, q asked, b testbody.Body) bool {
	fields := partFields(q, b)
	switch h.s.cfg.Fault.Kind {
	case HpackGarbage:
		_ = h.write(func() error {
			return h.fr.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, st.id, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		})
	case EvenStream:
		_ = h.header(&raw2Stream{id: 2}, false, fields...)
	case DataOnZero:
		_ = h.write(func() error { return h.fr.WriteRawFrame(http2.FrameData, 0, 0, []byte("nobody's")) })
	case UpperNames:
		_ = h.header(st, false, append(fields, "X-Upper", "yes")...)
	case SplitHeader:
		_ = h.write(func() error {
			if err := h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: st.id, BlockFragment: []byte{0x88}}); err != nil {
				return err
			}
			return h.fr.WritePing(false, [8]byte{})
		})
	case NoStatus:
		_ = h.header(st, false, fields[2:]...)
	default:
		return false
	}
	return true
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

// disturb is what comes in the middle of a body that goes on; false: it is not one of
// these.
func (h *raw2Conn) disturb(st *raw2Stream, k Kind) (bool, error) {
	const highest = 1<<31 - 1
	switch k {
	case SettingsZero:
		return true, h.write(func() error {
			return h.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0},
				http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16384},
				http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 0})
		})
	case GoAwayLower:
		return true, h.write(func() error {
			h.refuse, h.keep = true, st.id-1
			return h.fr.WriteGoAway(st.id-1, http2.ErrCodeNo, nil)
		})
	case GoAwayTwice:
		return true, h.write(func() error {
			h.refuse, h.keep = true, h.last
			if err := h.fr.WriteGoAway(highest, http2.ErrCodeNo, nil); err != nil {
				return err
			}
			return h.fr.WriteGoAway(h.last, http2.ErrCodeNo, nil)
		})
	default:
		return false, nil
	}
}
