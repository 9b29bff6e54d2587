package engine

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// TestTheNearestLinkFetchesASmallFile: its answer is the first, and says that the object ends
// before what it was asked for. It fetches the object itself then. Over TLS its bytes are
// taken at once; where nobody vouches for them they wait for what the server says over
// another link, which a portal in front of this one cannot have made up, though not for ever.
func TestTheNearestLinkFetchesASmallFile(t *testing.T) {
	const trip, soon = 900 * time.Millisecond, 100 * time.Millisecond
	for name, tt := range map[string]struct {
		secure, unchecked bool
		first             bool // a near link is the first one
		near              int  // how many links
		far               time.Duration
		after, most       time.Duration
	}{
		"over TLS":                              {secure: true, near: 1, far: trip, most: soon},
		"over TLS, unchecked":                   {secure: true, unchecked: true, near: 1, far: trip, after: trip, most: 3*trip + 2*soon},
		"over TLS, first":                       {secure: true, first: true, near: 1, far: trip, most: soon},
		"in clear, two agree, one is the first": {first: true, near: 2, far: trip, most: soon},
		"in clear, first":                       {first: true, near: 1, far: trip, after: trip, most: trip + soon},
		"in clear":                              {near: 1, far: trip, after: trip, most: trip + soon},
		"in clear, nobody answers":              {near: 1, far: time.Hour, after: time.Duration(parkTime), most: 2 * time.Duration(parkTime)},
		"in clear, two agree":                   {near: 2, far: trip, most: soon},
	} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(100_000)
			s, web := serve(t, o), fetch.Config{}
			if tt.secure {
				s, web = serveTLS(t, o)
			}
			nets, far := []*testLink{{name: "far", latency: tt.far, rate: 20_000}}, 0
			for i := range tt.near {
				nets = append(nets, &testLink{name: fmt.Sprint("near", i)})
			}
			if tt.first {
				far = 1
				nets[0], nets[far] = nets[far], nets[0]
			}
			r := newRig(t, nets...)
			if r.cfg.HTTP = web; tt.unchecked {
				r.cfg.HTTP.TLS.InsecureSkipVerify = true
			}
			start := time.Now()
			got := r.get(at(t, s, "", "/f"))
			took := time.Since(start)
			got.right(o.body)
			if c := got.carried(len(nets)); c[far] > 0 {
				t.Errorf("carried %v", c)
			}
			if took < tt.after || took > tt.most {
				t.Errorf("it took %v", took)
			}
		}))
	}
}

// TestAnEndBehindWhatWasRefused is none: a server that says so is not asked again and again.
func TestAnEndBehindWhatWasRefused(t *testing.T) {
	t.Run("", timeless(func(t *bubble) {
		o := newObject(100_000)
		o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			if off, _ := asked(r); off == 0 {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", 10*mib))
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return true
		}
		r := newRig(t, &testLink{name: "far", latency: 900 * time.Millisecond}, &testLink{name: "near"})
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if n := len(of[event.RequestStarted](got)); n > 8 {
			t.Errorf("%d requests", n)
		}
	}))
}
