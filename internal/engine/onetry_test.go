package engine

import (
	"net/http"
	"testing"

	"github.com/mlget/mlget/internal/fetch"
)

// TestOneTryIsOneRequest: who wants one try (-t 1) has a server that fails asked once, over a real
// socket, also where it would serve the object without Range.
func TestOneTryIsOneRequest(t *testing.T) {
	for name, ranged := range map[string]bool{"always": false, "for ranges": true} {
		for _, many := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := &shop{gate: func(w http.ResponseWriter, r *http.Request, _ *object) bool {
					fails := !ranged || r.Header.Get("Range") != ""
					if fails {
						w.WriteHeader(http.StatusInternalServerError)
					}
					return fails
				}}
				srv, r := serve(t, s), newRig(t, &testLink{name: "a"})
				r.cfg.Tries, r.cfg.ErrorTries = 1, 1
				if many {
					h := r.haul(t.Context(), Batch{}, ware{base: srv, size: 5000})
					if err := h.errs[h.jobs[0].ID]; classOf(err) != fetch.Busy {
						t.Errorf("%v", err)
					}
				} else {
					r.get(at(t, srv, "", "/1/5000")).class(fetch.Busy)
				}
				if n := s.requests.Load(); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}
