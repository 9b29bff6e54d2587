package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// TestUncheckedRangesShowEveryCut: a file is cut anywhere after a checkpoint, and bytes are written on.
// A byte that is claimed and lacking is among those that are looked at if there is any.
func TestUncheckedRangesShowEveryCut(t *testing.T) {
	t.Parallel()
	const (
		size = 96              // units
		unit = int64(16 << 10) // bytes
		page = 4               // units, the largest there is
	)
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	rangesOf := func(has *[size]bool) (all []scheduler.Range) {
		for at := range int64(size) {
			switch n := len(all); {
			case !has[at]:
			case n > 0 && all[n-1].End == at*unit:
				all[n-1].End += unit
			default:
				all = append(all, scheduler.Range{Off: at * unit, End: (at + 1) * unit})
			}
		}
		return all
	}
	for range 20_000 {
		var done, there [size]bool
		cut, withdrawn := rng.IntN(size+1), rng.IntN(4) == 0
		has := func(most int) (on [size]bool) { // some runs of units
			for at := rng.IntN(most); at < size; at += 1 + rng.IntN(most) {
				for n := rng.IntN(most); n > 0 && at < size; n, at = n-1, at+1 {
					on[at] = true
				}
			}
			return on
		}
		found, written := has(1+rng.IntN(size)), has(1+rng.IntN(size))
		for at := range size {
			done[at] = (found[at] || written[at]) && (!withdrawn || at%7 != 0)
			there[at] = written[at] && !found[at] || found[at] && at < cut
		}
		holes := func(ranges []scheduler.Range) (n int) {
			for _, r := range ranges {
				for at := r.Off / unit; at < r.End/unit; at++ {
					if !done[at] {
						t.Fatalf("%v is not claimed: done %v, found %v", r, rangesOf(&done), rangesOf(&found))
					}
					first := at / page * page
					if !slices.Contains(there[first:first+page], true) {
						n++
					}
				}
			}
			return n
		}
		ours, all := holes(unchecked(rangesOf(&done), rangesOf(&found))), holes(rangesOf(&done))
		if (ours > 0) != (all > 0) {
			t.Fatalf("cut at %d: %d of %d: done %v, found %v, there %v", cut, ours, all, rangesOf(&done), rangesOf(&found), rangesOf(&there))
		}
	}
}

// TestUncheckedRangesAreFew: what was looked at is not looked at again.
func TestUncheckedRangesAreFew(t *testing.T) {
	t.Parallel()
	n := int64(0)
	for _, r := range unchecked([]scheduler.Range{{End: 10 << 20}, {Off: 20 << 20, End: 30 << 20}}, []scheduler.Range{{End: 9 << 20}, {Off: 20 << 20, End: 29 << 20}}) {
		n += r.Len()
	}
	if want := int64(2<<20 + 2*cutSeen); n != want {
		t.Errorf("%d bytes are looked at, want %d: what is new, and the end of each range", n, want)
	}
}
