package daemon

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func gids(list []*Job) (all []GID) {
	for _, j := range list {
		all = append(all, j.GID)
	}
	return all
}

func queueOf(n int) *Queue {
	q := NewQueue(1000)
	for i := range n {
		q.Put(&Job{GID: GID(i + 1), State: Waiting}, -1)
	}
	return q
}

// The expectations are what aria2 1.36 answers to the same calls.
func TestPageCountsLikeAria2(t *testing.T) {
	q := queueOf(5)
	for _, c := range []struct {
		offset, num int
		want        []GID
	}{
		{0, 2, []GID{1, 2}},
		{3, 10, []GID{4, 5}},
		{1000, 2, nil},
		{-1, 2, []GID{5, 4}},
		{-2, 3, []GID{4, 3, 2}},
		{-5, 9, []GID{1}},
		{-1000, 2, nil},
		{0, 0, nil},
	} {
		if got := gids(Page(q.waiting, c.offset, c.num)); !slices.Equal(got, c.want) {
			t.Errorf("Page(%d, %d) = %v, want %v", c.offset, c.num, got, c.want)
		}
	}
}

func TestPutInsertsAtPosition(t *testing.T) {
	q := queueOf(0)
	for _, p := range []struct {
		g  GID
		at int
	}{{1, 0}, {2, 1}, {3, 1}, {4, 99}, {5, -1}} {
		q.Put(&Job{GID: p.g, State: Waiting}, p.at)
	}
	if got := gids(q.waiting); !slices.Equal(got, []GID{1, 3, 2, 4, 5}) {
		t.Error(got)
	}
}

// TestPriorityOrdersTheQueue: a higher priority goes before a lower one, and of one priority the
// earlier job before the later.
func TestPriorityOrdersTheQueue(t *testing.T) {
	m := New(t.Context(), NewQueue(1000), nil, nil, slow{})
	put := func(g GID, priority string, at int) {
		t.Helper()
		o := Options{}
		if priority != "" {
			o[optPriority] = priority
		}
		m.mu.Lock()
		m.closed = true // no job begins
		m.mu.Unlock()
		if _, err := m.Add(g, []string{"http://example.org/"}, o, at); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want ...GID) {
		t.Helper()
		if got := gids(m.q.waiting); !slices.Equal(got, want) {
			t.Errorf("the queue is %v, want %v", got, want)
		}
	}
	put(1, "", -1)
	put(2, "5", -1)
	put(3, "-1", -1)
	put(4, "", -1)
	put(5, "5", -1)
	put(6, "5", 99) // a place counts more
	want(2, 5, 1, 4, 3, 6)
	for _, change := range []struct {
		g  GID
		to string
	}{{2, "0"}, {3, "7"}, {4, "5"}, {3, "7"}} {
		if err := m.SetOptions(change.g.String(), Options{optPriority: change.to}); err != nil {
			t.Fatal(err)
		}
	}
	want(3, 5, 1, 6, 4, 2)
}

func TestFindByPrefix(t *testing.T) {
	q := NewQueue(1000)
	for _, text := range []string{"aaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaa2", "b0b1015c7d7bc7f8"} {
		g, err := ParseGID(text)
		if err != nil {
			t.Fatal(err)
		}
		q.Put(&Job{GID: g, State: Waiting}, -1)
	}
	for prefix, want := range map[string]error{
		"a": ErrAmbiguous, "aaaaaaaaaaaaaaa": ErrAmbiguous, "b": nil, "B0B1": nil, "aaaaaaaaaaaaaaa2": nil,
		"c": ErrNotFound, "aaaaaaaaaaaaaaa3": ErrNotFound, "zz": ErrGID, "": ErrGID, "aaaaaaaaaaaaaaaaa1": ErrGID, "+1": ErrGID, "-1": ErrGID,
	} {
		if _, err := q.Find(prefix); !errors.Is(err, want) {
			t.Errorf("Find(%q): %v, want %v", prefix, err, want)
		}
	}
	for _, bad := range []string{"", "0000000000000000", "abc", "zzzzzzzzzzzzzzzz", "+000000000000001"} {
		if g, err := ParseGID(bad); err == nil {
			t.Errorf("ParseGID(%q) = %v", bad, g)
		}
	}
}

func TestMoveStaysInQueue(t *testing.T) {
	q := queueOf(4)
	j, _ := q.Job(2)
	for _, c := range []struct {
		to, at int
		want   []GID
	}{{0, 0, []GID{2, 1, 3, 4}}, {9, 3, []GID{1, 3, 4, 2}}, {-7, 0, []GID{2, 1, 3, 4}}, {1, 1, []GID{1, 2, 3, 4}}} {
		at, err := q.Move(j, c.to)
		if err != nil || at != c.at || !slices.Equal(gids(q.waiting), c.want) {
			t.Errorf("Move(%d) = %d, %v: %v", c.to, at, err, gids(q.waiting))
		}
	}
	q.Set(j, Active)
	if _, err := q.Move(j, 0); !errors.Is(err, ErrState) {
		t.Error("an active job was moved")
	}
}

func TestStatesAndLists(t *testing.T) {
	q := queueOf(3)
	first, second := q.Next(nil), func() *Job { j, _ := q.Job(2); return j }()
	q.Set(first, Active)
	q.Set(second, Paused) // stays where it is
	if !slices.Equal(gids(q.waiting), []GID{2, 3}) || q.Next(nil).GID != 3 {
		t.Errorf("waiting %v", gids(q.waiting))
	}
	q.Set(first, Paused) // comes to the front
	if !slices.Equal(gids(q.waiting), []GID{1, 2, 3}) || len(q.active) != 0 {
		t.Errorf("waiting %v, active %v", gids(q.waiting), gids(q.active))
	}
	q.Set(first, Removed)
	q.Set(second, Failed)
	if !slices.Equal(gids(q.stopped), []GID{1, 2}) || q.ended != 2 {
		t.Errorf("stopped %v, %d in all", gids(q.stopped), q.ended)
	}
	if q.Surplus() != nil {
		t.Error("two of 1000 are too many")
	}
	q.keep = 1
	if j := q.Surplus(); j != first {
		t.Error("the oldest is not the one to be forgotten")
	}
}

func BenchmarkAdd10000(b *testing.B) {
	for b.Loop() {
		q := NewQueue(1000)
		for i := range 10000 {
			q.Put(&Job{GID: GID(i + 1), State: Waiting, URIs: []string{fmt.Sprint("http://example.org/", i)}}, -1)
		}
	}
}
