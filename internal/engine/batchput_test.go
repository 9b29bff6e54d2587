package engine

import (
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestBatchBusyWhileOthersDeliver: a server that asks to come again later for a part
// of a file goes on with another: what is on its way is not thrown away.
func TestBatchBusyWhileOthersDeliver(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t, &testLink{name: "a"})
		started, denied := make(chan struct{}), make(chan struct{})
		var once sync.Once
		sh := &shop{}
		sh.gate = func(w http.ResponseWriter, r *http.Request, o *object) bool {
			if o.requests.Load() == 1 {
				w.Header().Set("Etag", o.etag)
				http.ServeContent(&waiter{ResponseWriter: w, started: started, until: denied}, r, "", o.modified, o.body.Reader())
				return true
			}
			<-started
			select {
			case <-denied:
				return false
			default:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusServiceUnavailable)
				once.Do(func() { time.AfterFunc(200*time.Millisecond, func() { close(denied) }) })
				return true
			}
		}
		h := r.haul(t.Context(), Batch{}, ware{base: serve(t, sh), size: 4 << 20})
		h.right()
		for _, e := range of[event.RequestEnded](&h.outcome) {
			if e.Off == 0 && e.Outcome != event.OutcomeDone {
				t.Errorf("the request that was being answered ended as %v after %d bytes", e.Outcome, e.Bytes)
			}
		}
	})(t)
}

// waiter writes some bytes of a body, and the others when it may.
type waiter struct {
	http.ResponseWriter
	started chan struct{}
	until   chan struct{}
	wrote   bool
}

func (w *waiter) Write(p []byte) (int, error) {
	if w.wrote {
		return w.ResponseWriter.Write(p)
	}
	w.wrote = true
	n, err := w.ResponseWriter.Write(p[:min(len(p), 4096)])
	if err != nil {
		return n, err
	}
	if err := http.NewResponseController(w.ResponseWriter).Flush(); err != nil {
		return n, err
	}
	close(w.started)
	<-w.until
	more, err := w.ResponseWriter.Write(p[n:])
	return n + more, err
}

func TestWithout(t *testing.T) {
	t.Parallel()
	type ranges = []scheduler.Range
	for _, c := range []struct{ of, others, want ranges }{
		{ranges{{Off: 0, End: 10}}, nil, ranges{{Off: 0, End: 10}}},
		{ranges{{Off: 0, End: 10}}, ranges{{Off: 0, End: 10}}, nil},
		{ranges{{Off: 0, End: 10}}, ranges{{Off: 2, End: 4}, {Off: 6, End: 20}}, ranges{{Off: 0, End: 2}, {Off: 4, End: 6}}},
		{ranges{{Off: 5, End: 10}, {Off: 12, End: 15}}, ranges{{Off: 0, End: 7}, {Off: 10, End: 13}}, ranges{{Off: 7, End: 10}, {Off: 13, End: 15}}},
	} {
		if got := without(c.of, c.others); !slices.Equal(got, c.want) {
			t.Errorf("%v without %v: %v, not %v", c.of, c.others, got, c.want)
		}
	}
}
