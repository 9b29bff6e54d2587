package get

import (
	"testing"
	"time"
)

// A process gets more processors as soon as it keeps one half busy, and one again when it has
// been calm for seconds.
func TestProcessorsFollowTheLoad(t *testing.T) {
	var p processors
	now, cpu := time.Duration(0), time.Duration(0)
	for i, c := range []struct {
		over time.Duration
		part float64 // of one processor
		many bool
	}{
		{200 * time.Millisecond, 0.1, false},
		{200 * time.Millisecond, 0.4, false},
		{50 * time.Millisecond, 1, false}, // too short to tell
		{150 * time.Millisecond, 0.6, true},
		{200 * time.Millisecond, 0, true}, // a pause
		{2900 * time.Millisecond, 0.3, true},
		{2 * time.Second, 0.01, true},
		{2 * time.Second, 0.01, false},
		{200 * time.Millisecond, 1.9, true},
	} {
		now += c.over
		cpu += time.Duration(c.part * float64(c.over))
		if many := p.observe(now, cpu); many != c.many {
			t.Errorf("%d: many is %v", i, many)
		}
	}
}
