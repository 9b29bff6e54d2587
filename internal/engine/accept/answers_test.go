package accept

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

const kib = int64(1) << 10

func r(off, end int64) scheduler.Range { return scheduler.Range{Off: off * kib, End: end * kib} }

func always(scheduler.Range) bool { return true }

func TestAnswersAreJoinedByWhatTheyHaveInCommon(t *testing.T) {
	var a Answers
	first := a.Add(0, true)
	a.Has(first, 100*kib)
	second := a.Add(100*kib, false)
	a.Has(second, 200*kib)
	third := a.Add(200*kib, false)
	a.Has(third, 300*kib)
	if a.AllConfirmed() || a.Unconfirmed() != 200*kib {
		t.Errorf("%d bytes are unconfirmed", a.Unconfirmed())
	}
	if got := a.Claimable([]scheduler.Range{r(0, 300)}); !slices.Equal(got, []scheduler.Range{r(0, 100)}) {
		t.Errorf("claimable: %v", got)
	}
	if got := a.Seams(300*kib, always); !slices.Equal(got, []scheduler.Range{r(84, 116), r(184, 216)}) {
		t.Errorf("seams: %v", got)
	}
	a.Join(third, r(184, 200), 300*kib, always) // with the second, which is not confirmed either
	if a.Confirmed(third) || a.Confirmed(second) {
		t.Error("confirmed by one that is not")
	}
	a.Join(second, r(84, 100), 300*kib, always)
	if !a.Confirmed(second) || !a.Confirmed(third) || !a.AllConfirmed() {
		t.Error("what is joined is not confirmed together")
	}
	if got := a.Seams(300*kib, always); len(got) != 0 {
		t.Errorf("seams: %v", got)
	}
}

// TestTooLittleInCommon: 16 KiB with those that are of one object. A shorter answer, as one
// that broke off is, does not join others with its few bytes; its own are shown by a confirmed
// one that has brought the same.
func TestTooLittleInCommon(t *testing.T) {
	var a Answers
	first := a.Add(0, true)
	a.Has(first, 100*kib)
	short := a.Add(100*kib, false)
	a.Has(short, 104*kib)
	next := a.Add(104*kib, false)
	a.Has(next, 200*kib)
	a.Join(next, r(88, 104), 200*kib, always)
	if a.Confirmed(next) || a.Confirmed(short) {
		t.Error("12 KiB of the first were enough")
	}
	a.Join(short, r(84, 100), 200*kib, always)
	if !a.AllConfirmed() {
		t.Error("16 KiB of two answers that are joined do not join a third")
	}
	tail := a.Add(200*kib, true)
	a.Has(tail, 200*kib+3)
	other := a.Add(200*kib+3, false)
	a.Has(other, 300*kib)
	a.Join(other, scheduler.Range{Off: 200 * kib, End: 200*kib + 3}, 300*kib, always)
	if a.Confirmed(other) {
		t.Error("confirmed by 3 bytes")
	}
	lost := a.Add(300*kib, false)
	a.Has(lost, 300*kib+3)
	probe := a.Add(300*kib+3, true)
	if before := a.Unconfirmed(); a.Join(probe, scheduler.Range{Off: 300 * kib, End: 300*kib + 3}, 400*kib, always) != nil || a.Unconfirmed() != before-3 || a.Confirmed(lost) {
		t.Error("3 bytes that are the same in a confirmed answer are not shown to be of the object, or confirm more")
	}
}

func TestWhatDiffersIsNotJoined(t *testing.T) {
	var a Answers
	first := a.Add(0, true)
	a.Has(first, 100*kib)
	other := a.Add(100*kib, false)
	a.Has(other, 200*kib)
	probe := a.Add(116*kib, false)
	left := func(x scheduler.Range) bool { return x.End <= 100*kib }
	if differ := a.Join(probe, r(84, 116), 200*kib, left); !slices.Equal(differ, []ID{other}) || !a.Confirmed(probe) || a.Confirmed(other) {
		t.Errorf("differ: %v", differ)
	}
}

// TestSeams: a range is worth asking for where two answers meet that are not joined and of
// which one at least is not confirmed, and where all of it has come; the others before it are
// no reason to stop.
func TestSeams(t *testing.T) {
	var a Answers
	first := a.Add(0, true)
	a.Has(first, 100*kib)
	a.Has(a.Add(100*kib, true), 200*kib) // confirmed
	x := a.Add(200*kib, false)
	a.Has(x, 300*kib)
	y := a.Add(300*kib, false)
	a.Has(y, 400*kib)
	a.Unite(x, y)
	a.Has(a.Add(420*kib, false), 500*kib) // nothing has come before it
	if got := a.Seams(500*kib, always); !slices.Equal(got, []scheduler.Range{r(184, 216)}) {
		t.Errorf("seams: %v", got)
	}
	if got := a.Seams(500*kib, func(r scheduler.Range) bool { return r.End <= 200*kib }); len(got) != 0 {
		t.Errorf("seams of what has not come: %v", got)
	}
}

// TestLead: what was confirmed by an answer that another takes the place of is confirmed no
// longer, and joined with nothing.
func TestLead(t *testing.T) {
	var a Answers
	first := a.Add(0, true)
	a.Has(first, 3)
	second := a.Add(3, true)
	a.Has(second, 10)
	other := a.Add(10, false)
	a.Has(other, 100*kib)
	follower := a.Add(100*kib, false)
	a.Has(follower, 200*kib)
	a.Unite(other, follower)
	a.Lead(other)
	for id, want := range map[ID]bool{first: false, second: false, other: true, follower: true} {
		if a.Confirmed(id) != want {
			t.Errorf("answer %d: confirmed %v", id, !want)
		}
	}
	a.Unite(first, other)
	if a.Confirmed(second) || !a.Confirmed(first) {
		t.Error("answers that led together are still joined")
	}
	if id := a.Add(200*kib, true); !a.Confirmed(id) {
		t.Error("an answer that is proven is not joined with the one that leads")
	}
}

// TestJoinsNeverReachAcrossVersions: answers of several versions, cut anywhere and compared
// byte by byte with what their version is, are never confirmed unless they are of the
// first one's.
func TestJoinsNeverReachAcrossVersions(t *testing.T) {
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		var a Answers
		versions := []int{0}
		var ranges []scheduler.Range
		at := int64(0)
		for i := range 12 {
			end := at + 1 + rnd.Int64N(40*kib)
			id := a.Add(at, i == 0)
			a.Has(id, end)
			if i > 0 {
				versions = append(versions, rnd.IntN(2))
			}
			ranges = append(ranges, scheduler.Range{Off: at, End: end})
			at = end
		}
		of := func(x scheduler.Range) int { // the version of what is there
			i := slices.IndexFunc(ranges, func(r scheduler.Range) bool { return r.Off <= x.Off && x.End <= r.End })
			return versions[i]
		}
		for _, i := range rnd.Perm(len(versions) - 1) {
			id := ID(i + 2)
			lead := scheduler.Range{Off: max(0, ranges[i+1].Off-Overlap), End: ranges[i+1].Off}
			a.Join(id, lead, at, func(x scheduler.Range) bool { return of(x) == versions[i+1] })
		}
		same := true
		for i, v := range versions {
			same = same && v == versions[0] && ranges[0].Len() >= Overlap // else it is too short to be joined with
			if a.Confirmed(ID(i+1)) && v != versions[0] {
				t.Fatalf("seed %d: answer %d of another version is confirmed", seed, i+1)
			}
			if same && !a.Confirmed(ID(i+1)) {
				t.Fatalf("seed %d: answer %d follows answers of its own version and is not confirmed", seed, i+1)
			}
		}
	}
}
