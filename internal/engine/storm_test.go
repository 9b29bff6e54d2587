package engine

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/pkg/scheduler"
)

// TestFailureOfSpareConnectionIsExcusedOnce: a stream's failures are put down to there being too many once, or as
// long as others bring something.
func TestFailureOfSpareConnectionIsExcusedOnce(t *testing.T) {
	t.Parallel()
	d := &download{owner: owner{links: []linkState{{use: linkUse{taken: true}, conns: linkConns{delivered: 1}}}}}
	d.links[0].conns.lastByte[0] = scheduler.Second
	failed := &transfer{request: request{stream: 1}, exchange: exchange{sent: 5 * scheduler.Second}}
	excused := func(t *transfer) bool {
		ok := d.excusable(t)
		if ok {
			d.excuse(t)
		}
		return ok
	}
	if first, second := excused(failed), excused(failed); !first || second {
		t.Errorf("excused: %v, then %v", first, second)
	}
	d.links[0].conns.lastByte[0] = 4 * scheduler.Second
	for range 2 {
		if !excused(failed) {
			t.Error("others bring something, and it is to blame")
		}
	}
	if excused(&transfer{exchange: exchange{sent: 5 * scheduler.Second}}) {
		t.Error("a stream that has brought something is spared")
	}
}

// TestOneHoleIsOneTry: requests that come to a halt together are one failure of their
// link.
func TestOneHoleIsOneTry(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(16 * mib)
		over := make(chan struct{})
		var noticed atomic.Bool
		o.gate = func(_ http.ResponseWriter, r *http.Request, n int64) bool {
			hold := n > 3 && !noticed.Load()
			if hold {
				select {
				case <-r.Context().Done():
					noticed.Store(true)
				case <-over:
				}
			}
			return hold
		}
		s := serve(t, o)
		t.Cleanup(func() { close(over) })
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Parallelism, r.cfg.Tries, r.cfg.NoFailover = 8, 5, true
		r.cfg.StallTimeout = time.Second
		r.cfg.HTTP.ResponseTimeout = time.Second
		r.get(at(t, s, "", "/f")).right(o.body)
	})(t)
}
