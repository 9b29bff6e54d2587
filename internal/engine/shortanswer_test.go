package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// giving has a server give no more than so many bytes at once (RFC 9110, 15.3.7).
func giving(most int64, r *http.Request) {
	if off, end := asked(r); r.Header.Get("Range") != "" && end-off > most {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+most-1))
	}
}

func (o *object) gives(most int64) {
	o.gate = func(_ http.ResponseWriter, r *http.Request, _ int64) bool {
		giving(most, r)
		return false
	}
}

// soonKnown checks that nothing failed or came twice, and that few requests were for more
// than the server gives.
func soonKnown(t *bubble, o *object, got *outcome, most int64) {
	t.Helper()
	wasted := int64(0)
	for _, e := range of[event.RequestEnded](got) {
		if e.Outcome != event.OutcomeDone && e.Outcome != event.OutcomeCancelled {
			t.Errorf("request %d: outcome %s: %s", e.Chunk, e.Outcome, e.Error)
		}
		wasted += e.Wasted
	}
	if wasted > got.res.Size/100 {
		t.Errorf("%d bytes were wasted", wasted)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	over := 0
	for _, text := range o.ranges {
		var off, last int64
		_, _ = fmt.Sscanf(text, "bytes=%d-%d", &off, &last)
		if last-off >= most {
			over++
		}
	}
	if t.Logf("%d of %d requests were for more than the server gives", over, len(o.ranges)); over > 4 {
		t.Errorf("%d of %d requests were for more than the server gives", over, len(o.ranges))
	}
}

// A server that gives no more than a part of what is asked for is asked for the rest, and
// soon for no more than it gives.
func TestAServerGivesNoMoreAtOnce(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"3", "2", "1", "naive", "single"} {
		for _, most := range []int64{1 * mib, 300_000} {
			for links := 1; links <= 2; links++ {
				for _, proto := range []fetch.HTTPVersion{fetch.HTTP1, fetch.HTTP2PriorKnowledge} {
					t.Run(fmt.Sprintf("%s/%d/%d links/%d", algorithm, most, links, proto), timeless(func(t *bubble) {
						o := newObject(6*mib + 12345)
						o.gives(most)
						var nets []*testLink
						for i := range links {
							nets = append(nets, &testLink{name: fmt.Sprint("l", i), rate: 8 * mib << i})
						}
						r := newRig(t, nets...)
						r.cfg.Algorithm = algorithm
						r.cfg.HTTP.Protocol = proto
						got := r.get(at(t, serve(t, o), "", "/f"))
						got.right(o.body)
						soonKnown(t, o, got, most)
					}))
				}
			}
		}
	}
}

// The same, in order, and where one of two links' servers does so.
func TestAServerGivesNoMoreAtOnceInOrder(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(12*mib + 345)
		o.gives(700_000)
		r := newRig(t, &testLink{name: "a", rate: 8 * mib}, &testLink{name: "b", rate: 4 * mib})
		var out bytes.Buffer
		job := r.job(at(t, serve(t, o), "", "/f"))
		job.Stdout = &out
		got := r.do(t.Context(), job)
		if got.err != nil || !bytes.Equal(out.Bytes(), bytesOf(o.body, 0, o.body.Size)) {
			t.Fatalf("%d bytes, %v", out.Len(), got.err)
		}
		soonKnown(t, o, got, 700_000)
	})(t)
}

// A run goes on with what one before has left, of a server that gives a part of what is missing.
func TestAServerGivesNoMoreAtOnceAfterAResumption(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(12*mib + 345)
		r := newRig(t, &testLink{name: "a", rate: 8 * mib})
		u := at(t, serve(t, o), "", "/f")
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			r.await(ctx, 3*mib)
			cancel()
		}()
		if got := r.do(ctx, r.job(u)); !errors.Is(got.err, context.Canceled) {
			t.Fatal(got.err)
		}
		o.gives(1 * mib)
		got := r.get(u)
		got.right(o.body)
		soonKnown(t, o, got, 1*mib)
	})(t)
}

// Of many files, large ones and small ones.
func TestAServerGivesNoMoreAtOnceOfManyFiles(t *testing.T) {
	timeless(func(t *bubble) {
		const most = 200_000
		s := &shop{gate: func(_ http.ResponseWriter, r *http.Request, _ *object) bool {
			giving(most, r)
			return false
		}}
		srv := serve(t, s)
		r := newRig(t, &testLink{name: "a", rate: 8 * mib}, &testLink{name: "b", rate: 4 * mib})
		var wares []ware
		for i := range 20 {
			wares = append(wares, ware{base: srv, size: int64(i) * 77_777, known: i%3 == 0})
		}
		got := r.haul(t.Context(), Batch{}, wares...)
		got.right()
		for _, e := range of[event.RequestEnded](&got.outcome) {
			if e.Outcome == event.OutcomeProtocol { // connections may close, as of any batch
				t.Errorf("request %d of file %d: outcome %s: %s", e.Chunk, e.File, e.Outcome, e.Error)
			}
		}
		for _, e := range of[event.Notice](&got.outcome) {
			if strings.Contains(e.Text, "by itself") {
				t.Errorf("%s", e.Text)
			}
		}
	})(t)
}

// Where no validator shows that answers are of one object, their bytes do, and a server may
// give little more than these at once.
func TestAServerGivesNoMoreAtOnceWithoutValidators(t *testing.T) {
	for _, most := range []int64{300_000, 65_536} {
		t.Run(fmt.Sprint(most), timeless(func(t *bubble) {
			o := newObject(3*mib + 345)
			o.etag, o.modified = "", time.Time{}
			o.gives(most)
			r := newRig(t, &testLink{name: "a", rate: 8 * mib}, &testLink{name: "b", rate: 4 * mib})
			r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		}))
	}
	t.Run("too few", timeless(func(t *bubble) {
		o := newObject(mib)
		o.etag, o.modified = "", time.Time{}
		o.gives(10_000)
		r := newRig(t, &testLink{name: "a", rate: 8 * mib})
		if got := r.get(at(t, serve(t, o), "", "/f")); got.err == nil {
			got.right(o.body)
		} else if classOf(got.err) != fetch.Protocol {
			t.Errorf("%v", got.err)
		}
	}))
}
