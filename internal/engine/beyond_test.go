package engine

import (
	"testing"
	"time"

	"github.com/mlget/mlget/internal/fetch"
)

// TestTheNearestLinkFetchesASmallFile: its answer is the first, and says that the object ends
// before what it was asked for. It fetches the object itself then. Over TLS its bytes are
// taken at once; in clear they wait for what the server says over the other link, which a
// portal in front of the near one cannot have made up, though not for ever.
func TestTheNearestLinkFetchesASmallFile(t *testing.T) {
	for name, tt := range map[string]struct {
		secure      bool
		far         time.Duration
		after, most time.Duration
	}{
		"over TLS":                   {secure: true, far: 900 * time.Millisecond, most: 800 * time.Millisecond},
		"in clear":                   {far: 900 * time.Millisecond, after: 900 * time.Millisecond, most: 1200 * time.Millisecond},
		"in clear, nobody else does": {far: time.Hour, after: time.Duration(parkTime), most: 2 * time.Duration(parkTime)},
	} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(100_000)
			s, web := serve(t, o), fetch.Config{}
			if tt.secure {
				s, web = serveTLS(t, o)
			}
			r := newRig(t, &testLink{name: "far", latency: tt.far, rate: 20_000}, &testLink{name: "near"})
			r.cfg.HTTP = web
			start := time.Now()
			got := r.get(at(t, s, "", "/f"))
			took := time.Since(start)
			got.right(o.body)
			if c := got.carried(2); c[1] != o.body.Size {
				t.Errorf("carried %v", c)
			}
			if took < tt.after || took > tt.most {
				t.Errorf("it took %v", took)
			}
		}))
	}
}
