package engine

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimitsCountTogether: of the limits of a download, of its link and of all downloads the
// lowest holds, and downloads share the last one. The time is virtual.
func TestLimitsCountTogether(t *testing.T) {
	const each, all, bytes = 100_000, 150_000, 1_000_000
	for _, c := range []struct {
		name      string
		downloads int
		each, all int64
		want      time.Duration
	}{
		{"each alone", 3, each, 0, bytes * time.Second / each},
		{"all alone", 3, 0, all, 3 * bytes * time.Second / all},
		{"all is lower than each together", 3, each, all, 3 * bytes * time.Second / all},
		{"each is lower", 1, each, all, bytes * time.Second / each},
	} {
		synctest.Test(t, func(t *testing.T) {
			overall := NewLimiter(c.all, 0)
			begun := time.Now()
			var ended sync.WaitGroup
			for range c.downloads {
				e := &Engine{cfg: Config{LimitRate: NewLimiter(c.each, 0), Overall: overall}, links: []*Link{{}}, blocks: newBlocks(0)}
				if !e.limited(0) {
					t.Error("it is not limited")
				}
				ended.Go(func() {
					for left := bytes; left > 0; {
						n := min(e.readSize(0), left)
						left -= n
						if err := e.waitRate(t.Context(), 0, n); err != nil {
							t.Error(err)
						}
					}
				})
			}
			ended.Wait()
			if took := time.Since(begun); took < c.want*95/100 || took > c.want*105/100 {
				t.Errorf("%s: it took %v, want %v", c.name, took, c.want)
			}
		})
	}
	if e := (&Engine{links: []*Link{{}}}); e.limited(0) {
		t.Error("without limits it is limited")
	}
}
