package power

import (
	"math"
	"testing"
	"time"
)

func TestCounter(t *testing.T) {
	const wrap = 262_143_328_850
	for _, c := range []struct {
		name   string
		wrap   int64
		counts []int64 // one a second
		want   int64
	}{
		{"the first is the beginning", wrap, []int64{5_000_000}, 0},
		{"it rises", wrap, []int64{5, 10, 25}, 20},
		{"it wraps", wrap, []int64{wrap - 10, 7}, 17},
		{"it wraps twice", wrap, []int64{wrap - 10, 7, wrap - 10_000_000_000, 3, wrap - 1, 1}, 17 + 2},
		{"no range is known", 0, []int64{1000, 7, 10}, 3},
		{"it begins anew", wrap, []int64{900_000_000, 7, 10}, 3},
		{"a jump beyond belief", wrap, []int64{0, 100_000_000_000, 100_000_000_005}, 5},
		{"a range that is a lie", 10, []int64{1000, 7, 10}, 3},
		{"a range below nothing", -10, []int64{1000, 7, 10}, 3},
		{"the largest number", 0, []int64{0, math.MaxInt64, 0, math.MaxInt64}, 0},
		{"the largest range", math.MaxInt64, []int64{math.MaxInt64, 0}, 0},
	} {
		n := counter{wrap: c.wrap}
		for i, count := range c.counts {
			if err := n.add(time.Duration(i)*time.Second, count); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if n.sum != c.want {
			t.Errorf("%s: %d, want %d", c.name, n.sum, c.want)
		}
	}
	var n counter
	if err := n.add(0, -1); err == nil || n.seen {
		t.Error("a count below 0 was taken")
	}
}

func FuzzCounter(f *testing.F) {
	f.Add(int64(100), int64(90), int64(10), int64(20))
	f.Add(int64(0), int64(math.MaxInt64), int64(0), int64(-1))
	f.Fuzz(func(t *testing.T, wrap, a, b, c int64) {
		n := counter{wrap: wrap}
		for i, count := range []int64{a, b, c} {
			before := n.sum
			_ = n.add(time.Duration(i)*time.Second, count)
			if n.sum < before || n.sum-before > 2*maxWatts*1e6 {
				t.Errorf("%d to %d", before, n.sum)
			}
		}
	})
}
