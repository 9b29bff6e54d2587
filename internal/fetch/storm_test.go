package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
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

// storm asks for many ranges of b at once, some of which are cancelled for that
// cause and some closed early. Whatever is read must be right, and every Get must
// return; it says how many brought what they should, and how many failed.
func storm(t *testing.T, c *Client, u *url.URL, b testbody.Body, longest int64, seed uint64, cause error) (done, failed int64) {
	t.Helper()
	var came, lost atomic.Int64
	var wg sync.WaitGroup
	for w := range uint64(6) {
		wg.Go(func() {
			dice := rand.New(rand.NewPCG(seed, 1000+w))
			for range 50 {
				off := dice.Int64N(b.Size - 1)
				end := min(b.Size, off+1+dice.Int64N(longest))
				ctx, cancel := context.WithCancelCause(t.Context())
				if dice.IntN(4) == 0 {
					after := time.Duration(dice.IntN(2000)) * time.Microsecond
					time.AfterFunc(after, func() { cancel(cause) })
				}
				want := part(t, b, off, end)
				if dice.IntN(4) == 0 {
					want = want[:1+dice.IntN(len(want))]
				}
				r, err := c.Get(ctx, u, off, end)
				if err == nil {
					got := make([]byte, len(want))
					var n int
					n, err = io.ReadFull(readerOf(r, w%2 > 0), got)
					if !bytes.Equal(got[:n], want[:n]) {
						t.Error("other bytes")
					}
					_ = r.Close()
				}
				var e *Error
				switch {
				case err == nil:
					came.Add(1)
				case errors.As(err, &e) && (e.Class == Network || e.Class == Canceled), errors.Is(err, io.ErrUnexpectedEOF):
					lost.Add(1)
				default:
					t.Errorf("%v", err)
				}
				cancel(nil)
			}
		})
	}
	wg.Wait()
	return came.Load(), lost.Load()
}

// TestStorm is a storm over HTTP/1.1 against a moody server; goleak sees to it that
// nothing is left.
func TestStorm(t *testing.T) {
	b := testbody.Body{Size: 4 << 20, Seed: 50}
	for seed := range uint64(4) {
		s := newRawServer(t, moody(b, seed))
		c := client(t, Config{ResponseTimeout: 5 * time.Second})
		done, failed := storm(t, c, s.url(t), b, 200_000, seed, ErrStalled)
		if done < 100 {
			t.Errorf("seed %d: %d done, %d failed", seed, done, failed)
		}
		t.Logf("seed %d: %d done, %d failed, %d connections", seed, done, failed, s.accepted())
	}
}
