package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestChaos mixes faults at random. A download ends well or says why not, and
// what holds for every download holds.
func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), timeless(func(t *bubble) {
			chaos(t, rand.New(rand.NewPCG(seed, 7)))
		}))
	}
}

func chaos(t testing.TB, rng *rand.Rand) {
	o := newObject(rng.Int64N(2 * mib))
	var mu sync.Mutex // of rng in the server
	dice := rand.New(rand.NewPCG(rng.Uint64(), 1))
	var calm atomic.Bool
	portals := rng.IntN(4) == 0
	o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
		if calm.Load() {
			return false
		}
		mu.Lock()
		n, cut := dice.IntN(100), dice.Int64N(300_000)
		mu.Unlock()
		off, end := asked(r)
		switch {
		case n < 8:
			w.WriteHeader([]int{503, 429, 500, 408}[n%4])
		case n < 20 && end <= o.body.Size && end-off > cut && r.ProtoMajor == 1:
			hijack(w, head(o, off, end), bytesOf(o.body, off, off+cut))
		case n < 23 && r.ProtoMajor == 1:
			hijack(w) // no answer at all
		case n < 26 && portals:
			o.whole(w)
		case n < 28:
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		default:
			return false
		}
		return true
	}
	var nets []*testLink
	for i := range 1 + rng.IntN(3) {
		nets = append(nets, &testLink{
			name: fmt.Sprint("l", i), rate: mib << rng.IntN(4), latency: time.Duration(rng.IntN(40)) * time.Millisecond,
			cut: []int64{0, 0, 0, 500_000}[rng.IntN(4)],
		})
	}
	r := newRig(t, nets...)
	names := scheduler.Names()
	r.cfg.Algorithm = names[rng.IntN(len(names))]
	r.cfg.NoSteal, r.cfg.NoFailover = rng.IntN(4) == 0, rng.IntN(4) == 0
	r.cfg.StallTimeout = 700 * time.Millisecond
	r.cfg.Tries = 8
	if rng.IntN(3) == 0 {
		r.cfg.HTTP.Protocol = fetch.HTTP2PriorKnowledge
	}
	ctx, cancel := context.WithCancel(context.Background())
	var signal sync.WaitGroup
	defer signal.Wait()
	defer cancel()
	bad := nets[rng.IntN(len(nets))]
	signal.Go(func() { // it comes and goes
		for ctx.Err() == nil {
			time.Sleep(300 * time.Millisecond)
			bad.hole.Store(!bad.hole.Load())
		}
		bad.hole.Store(false)
	})
	u := at(t, serve(t, o), "", "/f")
	job := r.job(u)
	var c *consumer
	if rng.IntN(3) == 0 {
		c = newConsumer()
		job.Stdout = c
	}
	got := r.do(context.Background(), job)
	switch {
	case got.err == nil && c != nil:
		if c.hash() != o.body.SHA256() {
			t.Fatal("wrong hash")
		}
	case got.err == nil:
		got.right(o.body)
	case classOf(got.err) == 0 && !errors.Is(got.err, ErrChanged):
		t.Fatalf("error %v", got.err)
	default:
		t.Logf("ended with %v", got.err)
	}
	if c != nil || got.err == nil {
		return
	}
	// The signal is good now and the server well: what is left is right.
	calm.Store(true)
	again := newRig(t)
	again.dir = r.dir
	again.get(u).right(o.body)
}
