package fetch

import (
	"testing"
)

func TestNextMark(t *testing.T) {
	const k = 1 << 10
	for _, c := range []struct {
		what             string
		set, wish, bound int64
		want             int64
	}{
		{"nothing is wanted", 1, 1, 1 << 30, 1},
		{"raised", 1, 64 * k, 1 << 30, 64 * k},
		{"a little more is wanted", 64 * k, 100 * k, 1 << 30, 64 * k},
		{"twice as much is wanted", 64 * k, 128 * k, 1 << 30, 128 * k},
		{"a little less is wanted", 64 * k, 40 * k, 1 << 30, 64 * k},
		{"half is wanted", 64 * k, 32 * k, 1 << 30, 32 * k},
		{"taken back", 64 * k, 1, 1 << 30, 1},
		{"so little is not worth it", 1, leastMark - 1, 1 << 30, 1},
		{"the end is as far as the mark", 64 * k, 64 * k, 64 * k, 64 * k},
		{"the end is nearer by one byte", 64 * k, 64 * k, 64*k - 1, 64*k - 1},
		{"the end is near", 64 * k, 64 * k, leastMark - 1, 1},
		{"the end is there", 64 * k, 64 * k, 0, 1},
		{"all of it may be in a buffer", 64 * k, 64 * k, 10 - tlsAhead, 1},
	} {
		if got := nextMark(c.set, c.wish, c.bound); got != c.want {
			t.Errorf("%s: nextMark(%d, %d, %d) = %d, want %d", c.what, c.set, c.wish, c.bound, got, c.want)
		}
	}
}

// FuzzNextMark: a mark never exceeds the bytes to come, nor the wish by much.
func FuzzNextMark(f *testing.F) {
	f.Add(int64(1), int64(1<<16), int64(1<<20))
	f.Add(int64(1<<16), int64(1), int64(-5))
	f.Fuzz(func(t *testing.T, set, wish, bound int64) {
		const most = 1 << 40
		if set < 1 || wish < 1 || set > most || wish > most || bound > most {
			t.Skip()
		}
		n := nextMark(set, wish, bound)
		if n < 1 || n > max(1, bound) || n > 2*wish {
			t.Errorf("nextMark(%d, %d, %d) = %d", set, wish, bound, n)
		}
		if again := nextMark(n, wish, bound); again != n {
			t.Errorf("nextMark(%d, %d, %d) = %d, and then %d", set, wish, bound, n, again)
		}
	})
}
