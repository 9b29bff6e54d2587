package hostile

import (
	"fmt"
	"net/http"
	"strconv"
)

// smallAnswer is the most that a server with SmallAnswers gives of a range.
const smallAnswer = 64 << 10

// lies answers with a size that is not the object's, with objects that cannot be told
// apart, or refuses ranges; false: the fault is none of these.
func (s *Server) lies(w http.ResponseWriter, q asked) bool {
	a := answer{body: s.Object(q.n), other: s.changed.Load(), set: http.Header{}}
	size := a.body.Size
	switch s.cfg.Fault.Kind {
	case EmptyRange:
		w.Header().Set("Content-Range", "bytes */0")
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return true
	case EmptyWhole:
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusOK)
		return true
	case SmallPart:
		const small = 100
		h := w.Header()
		h.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", small-1, small))
		h.Set("Content-Length", strconv.Itoa(small))
		w.WriteHeader(http.StatusPartialContent)
		b := make([]byte, small)
		n, _ := Nth(s.cfg.Other, q.n).ReadAt(b, 0)
		s.writeAll(w, b[:n])
		return true
	case LateETags, DateThenETags:
		a.set.Set("Etag", "")
		if s.cfg.Fault.Kind == DateThenETags {
			a.set.Set("Last-Modified", modified(false).Format(http.TimeFormat))
		}
		if turn := s.struck.Load(); turn > 1 {
			if turn%2 == 0 {
				a.body = Nth(s.cfg.Other, q.n)
				a.body.Size = size
			}
			a.set.Set("Etag", etag(a.body))
		}
	case RangesRefused, RangesForbidden, RangesFail, RangesCut:
		if !q.part {
			return false
		}
		switch s.cfg.Fault.Kind {
		case RangesRefused:
			http.Error(w, "no ranges", http.StatusBadRequest)
		case RangesForbidden:
			http.Error(w, "no ranges", http.StatusForbidden)
		case RangesFail:
			http.Error(w, "no ranges", http.StatusInternalServerError)
		default:
			panic(http.ErrAbortHandler)
		}
		return true
	case SmallAnswers:
		if q.part && q.off < size {
			q.end = min(q.end, q.off+smallAnswer)
		}
	default:
		return false
	}
	s.answer(w, q, a)
	return true
}
