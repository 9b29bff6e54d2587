package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
)

// Hosts that do not answer hold up no files of others.
func TestBatchDeadHostsHoldUpNoOthers(t *testing.T) {
	t.Run("", timeless(func(t *bubble) {
		const silent = 30 * time.Second // until a connection is given up
		s := serve(t, &shop{})
		r := newRig(t, &testLink{
			name: "a", rate: mib, latency: 20 * time.Millisecond,
			resolve: func(name string) error {
				if strings.HasPrefix(name, "dead") {
					time.Sleep(silent)
					return errors.New("nobody answers")
				}
				return nil
			},
		})
		r.cfg.Parallelism = 0
		var wares []ware
		want := 0
		for i := range 200 {
			host := "good"
			if i%10 == 5 && i < 80 {
				host = fmt.Sprint("dead", i)
			} else {
				want++
			}
			wares = append(wares, ware{base: s, host: host, size: 50 << 10})
		}
		h := r.haul(t.Context(), Batch{}, wares...)
		good := 0
		for _, e := range of[event.FileEnded](&h.outcome) {
			if e.ExitCode != 0 {
				continue
			}
			if good++; time.Duration(e.At) > silent {
				t.Fatalf("of %d files the %dth came only after %v", want, good, time.Duration(e.At))
			}
		}
		if good != want {
			t.Errorf("%d of %d files", good, want)
		}
	}))
}
