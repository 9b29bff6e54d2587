package engine

import "sync"

// freeList keeps what is not in use for whoever needs one next.
type freeList[T any] struct {
	most int // that it keeps; 0: any number

	mu   sync.Mutex
	idle []T
}

// get is false where there is none.
func (s *freeList[T]) get() (item T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.idle)
	if n == 0 {
		return item, false
	}
	item = s.idle[n-1]
	clear(s.idle[n-1:])
	s.idle = s.idle[:n-1]
	return item, true
}

// put puts one back, or leaves it to whoever collects what nobody uses.
func (s *freeList[T]) put(item T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.most == 0 || len(s.idle) < s.most {
		s.idle = append(s.idle, item)
	}
}
