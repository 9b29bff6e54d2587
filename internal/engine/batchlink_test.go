package engine

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestBatchCap: a link's allowance holds for all files of a batch together, and
// when all are spent, the batch is over.
func TestBatchCap(t *testing.T) {
	t.Parallel()
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint("both ", both), timeless(func(t *bubble) {
			const most = 500_000
			r := newRig(t)
			r.nets[0].rate, r.nets[1].rate = 8*mib, 4*mib
			r.terms[0].Cap = most
			if both {
				r.terms[1].Cap = most
			}
			h := r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 100, true)...)
			n := h.brought()
			if n[0] > most || both && n[1] > most {
				t.Errorf("%v bytes over links that may carry %d", n, most)
			}
			if !both { // and the other one did the rest
				h.right()
				return
			}
			for id := range scheduler.LinkID(2) {
				if state, reason := h.last(id); state != event.LinkCapped {
					t.Errorf("link %d is %s: %s", id, state, reason)
				}
			}
			if !errors.Is(h.err, ErrCapped) {
				t.Errorf("error %v", h.err)
			}
			h.tidy()
		}))
	}
}

// TestBatchLinkJoins: a link that joins takes part, and one that has moved goes on.
func TestBatchLinkJoins(t *testing.T) {
	timeless(func(t *bubble) {
		first, second := &testLink{name: "a", rate: mib}, &testLink{name: "b", rate: mib}
		r, after := joining(t, 2, first)
		r.nets = append(r.nets, second)
		after(mib, func() { r.come(1, second) })
		after(2*mib, func() {
			r.links[0].Renew(first, true)
			first.breakAll()
		})
		h := r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 120, false)...)
		h.right()
		if n := h.carried(2); n[0] == 0 || n[1] == 0 {
			t.Errorf("the links carried %v bytes", n)
		}
	})(t)
}

// TestBatchStalls: a body that comes to a halt is asked for again, and the others go
// on.
func TestBatchStalls(t *testing.T) {
	timeless(func(t *bubble) {
		over := make(chan struct{})
		sh := &shop{}
		sh.gate = func(w http.ResponseWriter, r *http.Request, o *object) bool {
			if o.body.Seed != 12 || sh.times(r.URL.Path) > 1 {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", o.body.Size-1, o.body.Size))
			w.Header().Set("Content-Length", fmt.Sprint(o.body.Size))
			w.Header().Set("Etag", o.etag)
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(bytesOf(o.body, 0, o.body.Size/2))
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return true
		}
		s := serve(t, sh)
		t.Cleanup(func() { close(over) })
		r := newRig(t, &testLink{name: "a"})
		r.cfg.NoFailover, r.cfg.NoSteal = true, true // which would see to it before
		r.cfg.StallTimeout = 500 * time.Millisecond
		h := r.haul(t.Context(), Batch{}, mixed(s, 60, false)...)
		h.right()
	})(t)
}
