package schedtest

import (
	"fmt"
	"slices"

	"github.com/mlget/mlget/pkg/scheduler"
)

// ledger is the suite's own account: which ranges were received, and which are
// expected from requests in flight. It is written plainly, to be obvious.
type ledger struct {
	size     int64
	have     []scheduler.Range // received, in the order of arrival
	expected []scheduler.Range // of requests in flight
}

// expect replaces one expected range by another; an empty one is none.
func (l *ledger) expect(old, now scheduler.Range) error {
	if i := slices.Index(l.expected, old); i >= 0 {
		l.expected = slices.Delete(l.expected, i, i+1)
	}
	if now.Empty() {
		return nil
	}
	for _, r := range l.expected {
		if now.Off < r.End && r.Off < now.End {
			return fmt.Errorf("%v overlaps %v, which is in flight", now, r)
		}
	}
	if old.Empty() { // a shorter form of old holds what old received
		for _, r := range l.have {
			if now.Off < r.End && r.Off < now.End {
				return fmt.Errorf("%v overlaps %v, which is there", now, r)
			}
		}
	}
	l.expected = append(l.expected, now)
	return nil
}

func (l *ledger) receive(r scheduler.Range) error {
	if r.Empty() {
		return nil
	}
	for i := range l.have {
		h := &l.have[i]
		if r.Off < h.End && h.Off < r.End {
			return fmt.Errorf("%v was received already, within %v", r, *h)
		}
	}
	for i := range l.have {
		if h := &l.have[i]; h.End == r.Off {
			h.End = r.End
			return nil
		}
	}
	l.have = append(l.have, r)
	return nil
}

// sorted joins what was received.
func (l *ledger) sorted() []scheduler.Range {
	slices.SortFunc(l.have, func(a, b scheduler.Range) int { return int(min(1, max(-1, a.Off-b.Off))) })
	joined := l.have[:0]
	for _, r := range l.have {
		if n := len(joined); n > 0 && joined[n-1].End == r.Off {
			joined[n-1].End = r.End
		} else {
			joined = append(joined, r)
		}
	}
	l.have = joined
	return l.have
}

// head is how many bytes from the first on have been received.
func (l *ledger) head() int64 {
	if s := l.sorted(); len(s) > 0 && s[0].Off == 0 {
		return s[0].End
	}
	return 0
}

// whole says whether the ranges received are the object.
func (l *ledger) whole() error {
	s := l.sorted()
	if l.size == 0 && len(s) == 0 || len(s) == 1 && s[0] == (scheduler.Range{End: l.size}) {
		return nil
	}
	return fmt.Errorf("completion was said with %v received of %d bytes", s, l.size)
}
