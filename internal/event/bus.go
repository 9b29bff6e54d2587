package event

import (
	"iter"
	"sync"
)

// sampleBacklog is how many unread events a watcher may have before new
// samples pass it by. Lifecycle events are kept however long the queue is.
const sampleBacklog = 256

// Bus hands every published event to every subscription. Its zero value is
// ready for use; it must not be copied.
type Bus struct {
	mu     sync.Mutex
	subs   []*Subscription
	closed bool
}

// Subscription is one watcher's queue.
type Subscription struct {
	mu     sync.Mutex
	ready  sync.Cond
	queue  []Event
	closed bool
}

// Subscribe adds a watcher, who will see every event published from now on.
func (b *Bus) Subscribe() *Subscription {
	s := &Subscription{}
	s.ready.L = &s.mu
	b.mu.Lock()
	defer b.mu.Unlock()
	s.closed = b.closed
	b.subs = append(b.subs, s)
	return s
}

// Publish hands e to every watcher's queue and returns at once. All watchers
// see events in the same order. An event published after Close is dropped.
func (b *Bus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for _, s := range b.subs {
		s.push(e)
	}
}

// Close ends the stream: watchers drain what is queued, then Next says so.
func (b *Bus) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, s := range b.subs {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.ready.Broadcast()
	}
}

func (s *Subscription) push(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) >= sampleBacklog && mayBeDropped(e) {
		return
	}
	s.queue = append(s.queue, e)
	s.ready.Signal()
}

func mayBeDropped(e Event) bool {
	switch e.(type) {
	case Sample, Power, Usage:
		return true
	}
	return false
}

// Next waits for events and returns all that are queued, oldest first, in buf's
// space. ok is false once the bus is closed and every event was returned.
func (s *Subscription) Next(buf []Event) (events []Event, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.closed {
		s.ready.Wait()
	}
	if len(s.queue) == 0 {
		return buf[:0], false
	}
	events = append(buf[:0], s.queue...)
	clear(s.queue)
	s.queue = s.queue[:0]
	return events, true
}

// All gives every event, oldest first, until the bus is closed. Who breaks off may
// have taken events that nobody gets any more.
func (s *Subscription) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for batch, ok := s.Next(nil); ok; batch, ok = s.Next(batch) {
			for _, e := range batch {
				if !yield(e) {
					return
				}
			}
		}
	}
}
