package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// step is what an attempt does: it takes some time, then ends with err.
type step struct {
	takes time.Duration
	err   error
}

func TestRace(t *testing.T) {
	first, second, last := errors.New("first"), errors.New("second"), errors.New("final")
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		steps     []step
		deadline  time.Duration
		want      int // index of the winner; -1: none
		err       error
		took      time.Duration
		started   int64
		discarded []int
	}{
		"first answers at once":       {[]step{{10 * ms, nil}, {10 * ms, nil}}, 0, 0, nil, 10 * ms, 1, nil},
		"only one":                    {[]step{{900 * ms, nil}}, 0, 0, nil, 900 * ms, 1, nil},
		"first is slow, second wins":  {[]step{{900 * ms, nil}, {10 * ms, nil}}, 0, 1, nil, 260 * ms, 2, nil},
		"slow first still wins":       {[]step{{300 * ms, nil}, {100 * ms, nil}}, 0, 0, nil, 300 * ms, 2, nil},
		"failure starts the next":     {[]step{{10 * ms, first}, {10 * ms, nil}}, 0, 1, nil, 20 * ms, 2, nil},
		"all fail: the first's error": {[]step{{10 * ms, first}, {10 * ms, second}}, 0, -1, first, 20 * ms, 2, nil},
		"a final error ends it":       {[]step{{10 * ms, last}, {10 * ms, nil}}, 0, -1, last, 10 * ms, 1, nil},
		"deadline":                    {[]step{{time.Hour, nil}, {time.Hour, nil}, {time.Hour, nil}}, 300 * ms, -1, context.DeadlineExceeded, 300 * ms, 2, nil},
		"both at the same moment":     {[]step{{260 * ms, nil}, {10 * ms, nil}}, 0, -2, nil, 260 * ms, 2, nil},
		"nothing to try":              {nil, 0, -1, nil, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				began := time.Now()
				var started atomic.Int64
				var discarded []int
				got, err := race(ctx, len(c.steps), 250*ms, func(ctx context.Context, i int) (int, error) {
					started.Add(1)
					select {
					case <-time.After(c.steps[i].takes):
						return i, c.steps[i].err
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				}, func(err error) bool { return errors.Is(err, last) }, func(i int) { discarded = append(discarded, i) })
				if time.Since(began) != c.took || started.Load() != c.started {
					t.Errorf("took %v with %d attempts, want %v with %d", time.Since(began), started.Load(), c.took, c.started)
				}
				switch {
				case c.want == -1:
					if err == nil || c.err != nil && !errors.Is(err, c.err) {
						t.Errorf("error %v, want %v", err, c.err)
					}
				case c.want >= 0 && (err != nil || got != c.want):
					t.Errorf("got %d, %v, want %d", got, err, c.want)
				case c.want == -2:
					// Either may win; what the other one made must not be lost.
					if err != nil || slices.Contains(discarded, got) || len(discarded) > 1 {
						t.Errorf("got %d, %v, discarded %v", got, err, discarded)
					}
				}
			})
		})
	}
}

func never(error) bool { return false }

// What losers bring in spite of their cancellation is given back.
func TestRaceDiscards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var discarded []int
		got, err := race(t.Context(), 3, time.Millisecond, func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(10-3*i) * time.Millisecond) // deaf to its context
			return i, nil
		}, never, func(i int) { discarded = append(discarded, i) })
		slices.Sort(discarded)
		if err != nil || got != 2 || fmt.Sprint(discarded) != "[0 1]" {
			t.Errorf("got %d, %v, discarded %v", got, err, discarded)
		}
	})
}
