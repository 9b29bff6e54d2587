package engine

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
)

// TestFilesByThemselvesShareASlowLink: files that are downloaded by themselves do not ban a link as
// silent over which another one's bytes come meanwhile.
func TestFilesByThemselvesShareASlowLink(t *testing.T) {
	timeless(func(t *bubble) {
		sh := &shop{gate: func(w http.ResponseWriter, r *http.Request, o *object) bool {
			w.Header().Set("Content-Type", "application/octet-stream") // and nothing shows that two answers are of one object
			http.ServeContent(w, r, "", time.Time{}, o.body.Reader())
			return true
		}}
		s := serve(t, sh)
		r := newRig(t, &testLink{name: "a", rate: 2 * mib}, &testLink{name: "b", rate: mib, turn: 900 * time.Millisecond})
		h := r.haul(t.Context(), Batch{}, ware{base: s, size: 24 * mib}, ware{base: s, size: 24 * mib})
		h.right()
		for _, e := range h.events {
			if e, ok := e.(event.LinkChanged); ok && e.State == event.LinkBanned {
				t.Errorf("%s: link %d: %s", fmt.Sprint(time.Duration(e.At)), e.Link, e.Reason)
			}
		}
	})(t)
}
