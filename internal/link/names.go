package link

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// nameFresh is for how long an answer is valid: the net package does not report the name
	// server's TTL, and curl uses this.
	nameFresh = time.Minute
	// nameStale is how long a name server with a known answer may take for the next one; then
	// the known one is used (RFC 8767, section 5, "client response timer").
	nameStale = 1800 * time.Millisecond
	// maxNames bounds how many are remembered.
	maxNames = 64
)

// names remembers the addresses that a link's name servers gave. Without it each connection
// would cost a further query, and none could be made when the name servers fail during a
// download. Queries for the same name wait for the first one's answer, for queryStagger at
// most, as packets are lost. The zero value is ready for use.
type names struct {
	mu    sync.Mutex
	known map[name]found
	asked map[name]*question
}

type name struct {
	host   string
	family Family
}

type found struct {
	addrs []netip.Addr
	good  time.Time // until when
}

// question is an open query, and then its answer.
type question struct {
	done   chan struct{} // closed in the end; what follows is set by then
	addrs  []netip.Addr
	err    error
	gaveUp bool // the query was cancelled before its answer
}

// find returns the addresses of n: known ones while they are valid, else those that ask brings,
// or, if no server answers, the earlier ones. An answer that there is no such name is believed.
func (s *names) find(ctx context.Context, n name, ask func(context.Context) ([]netip.Addr, error)) ([]netip.Addr, error) {
	for late := false; ; {
		q, mine, old := s.question(n, late)
		switch {
		case q == nil:
			return slices.Clone(old.addrs), nil
		case mine:
			s.ask(ctx, n, q, old, ask)
			return slices.Clone(q.addrs), q.err
		}
		select {
		case <-q.done:
			if !q.gaveUp {
				return slices.Clone(q.addrs), q.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(queryStagger):
			late = true
		}
	}
}

// question is the one that n needs, nil for none, and whether it is the caller's to ask; and
// what n stood for before.
func (s *names) question(n name, late bool) (q *question, mine bool, old found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old = s.known[n]
	if time.Now().Before(old.good) {
		return nil, false, old
	}
	if q = s.asked[n]; q != nil && !late {
		return q, false, old
	}
	if s.asked == nil {
		s.asked = map[name]*question{}
	}
	q = &question{done: make(chan struct{})}
	s.asked[n] = q
	return q, true, old
}

// ask asks a question of n, of which old was known.
func (s *names) ask(ctx context.Context, n name, q *question, old found, ask func(context.Context) ([]netip.Addr, error)) {
	asking := ctx
	if old.addrs != nil {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, nameStale)
		defer cancel()
	}
	q.addrs, q.err = ask(asking)
	q.gaveUp = ctx.Err() != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case q.err == nil:
		s.note(n, found{q.addrs, time.Now().Add(nameFresh)})
	case old.addrs != nil && !isNotFound(q.err) && !q.gaveUp:
		q.addrs, q.err = old.addrs, nil
	}
	delete(s.asked, n)
	close(q.done)
}

// note remembers what n stands for. mu is held.
func (s *names) note(n name, a found) {
	if s.known == nil || len(s.known) >= maxNames {
		s.known = map[name]found{}
	}
	s.known[n] = a
}

// doubt makes the next find ask for n again: no server listens at its addresses.
func (s *names) doubt(n name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.known[n]; ok {
		a.good = time.Time{}
		s.known[n] = a
	}
}
