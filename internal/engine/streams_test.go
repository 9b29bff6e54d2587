package engine

import (
	"net/http"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/event"
)

// TestServersBoundConnections downloads over eight connections a link from
// servers that serve three at a time from an address and turn the others away.
func TestServersBoundConnections(t *testing.T) {
	t.Parallel()
	away := map[string]func(w http.ResponseWriter){
		"busy":      func(w http.ResponseWriter) { w.Header().Set("Retry-After", "60"); w.WriteHeader(503) },
		"forbidden": func(w http.ResponseWriter) { w.WriteHeader(403) },
		"cut off":   func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
	}
	for name, refuse := range away {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(24 * mib)
			var mu sync.Mutex
			served := map[string]bool{}
			o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
				mu.Lock()
				defer mu.Unlock()
				if !served[r.RemoteAddr] && len(served) == 3 {
					refuse(w)
					return true
				}
				served[r.RemoteAddr] = true
				return false
			}
			r := newRig(t, &testLink{name: "a", rate: 16 * mib})
			r.cfg.Parallelism = 8
			got := r.get(at(t, serve(t, o), "", "/f"))
			if got.err != nil {
				t.Fatal(got.err)
			}
			for _, e := range of[event.LinkChanged](got) {
				if e.State != event.LinkUsed {
					t.Errorf("the link is %s: %s", e.State, e.Reason)
				}
			}
		}))
	}
}
