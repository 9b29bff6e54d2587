package fetch

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// moody answers ranges properly, but ends connections as it likes: before a
// response, within one, after one, saying so or not; with odd seeds only after
// a while.
func moody(b testbody.Body, seed uint64) func(*peer) {
	return func(p *peer) {
		dice := rand.New(rand.NewPCG(seed, uint64(p.n)))
		for n := 0; ; n++ {
			r := p.request()
			if r == nil {
				return
			}
			off, end := ranged(r)
			mood := dice.IntN(12)
			if seed%2 == 1 && n < wellServed+2 {
				mood = 12 // so that pipelining is not given up
			}
			switch mood {
			case 0:
				return
			case 1:
				p.part(b, off, end, "Connection: close\r\n")
				return
			case 2:
				p.say(head206(off, end, b.Size, "") + string(part(p.t, b, off, off+(end-off)/2)))
				return
			case 3:
				p.part(b, off, end, "")
				return
			default:
				p.part(b, off, end, "")
			}
		}
	}
}

// TestStorm runs many requests at once, some cancelled and some closed early,
// against a moody server. Whatever is read must be right, every Get must return,
// and goleak sees to it that nothing is left.
func TestStorm(t *testing.T) {
	b := testbody.Body{Size: 4 << 20, Seed: 50}
	for seed := range uint64(4) {
		s := newRawServer(t, moody(b, seed))
		c := client(t, Config{ResponseTimeout: 5 * time.Second})
		var done, failed atomic.Int64
		var wg sync.WaitGroup
		for w := range uint64(6) {
			wg.Go(func() {
				dice := rand.New(rand.NewPCG(seed, 1000+w))
				for range 50 {
					off := dice.Int64N(b.Size - 1)
					end := min(b.Size, off+1+dice.Int64N(200_000))
					ctx, cancel := context.WithCancelCause(t.Context())
					if dice.IntN(4) == 0 {
						after := time.Duration(dice.IntN(2000)) * time.Microsecond
						time.AfterFunc(after, func() { cancel(ErrStalled) })
					}
					most := end - off
					if dice.IntN(4) == 0 {
						most = dice.Int64N(most) + 1
					}
					r, err := c.Get(ctx, s.url(t), off, end)
					if err == nil {
						got := make([]byte, most)
						var n int
						n, err = io.ReadFull(r, got)
						if sum(got[:n]) != sum(part(t, b, off, off+int64(n))) {
							t.Error("other bytes")
						}
						_ = r.Close()
					}
					var e *Error
					switch {
					case err == nil:
						done.Add(1)
					case errors.As(err, &e) && (e.Class == Network || e.Class == Canceled), errors.Is(err, io.ErrUnexpectedEOF):
						failed.Add(1)
					default:
						t.Errorf("%v", err)
					}
					cancel(nil)
				}
			})
		}
		wg.Wait()
		if done.Load() < 100 {
			t.Errorf("seed %d: %d done, %d failed", seed, done.Load(), failed.Load())
		}
		t.Logf("seed %d: %d done, %d failed, %d connections", seed, done.Load(), failed.Load(), s.accepted())
	}
}
