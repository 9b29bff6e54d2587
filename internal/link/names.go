package link

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"
)

const (
	// nameFresh is for how long an answer is good: the net package does not tell what the
	// name server says of that, and this is what curl takes it for.
	nameFresh = time.Minute
	// nameStale is how long who gave an answer before may take for the next one, if that one
	// is to be used instead (RFC 8767, section 5, "client response timer").
	nameStale = 1800 * time.Millisecond
	// maxNames bounds how many are remembered.
	maxNames = 64
)

// names remembers which addresses a link's name servers gave. Each further connection would
// ask again, which is a round trip more, and none could be made when they fail in the middle
// of a download. The zero value is ready for use.
type names struct {
	mu    sync.Mutex
	known map[name]found
}

type name struct {
	host   string
	family Family
}

type found struct {
	addrs []netip.Addr
	good  time.Time // until when
}

// find gives the addresses of n: those that are known, as long as they are good, else those
// that ask brings, or, if nobody can say, those that were good before. Who says that there is
// no such name is believed.
func (s *names) find(ctx context.Context, n name, ask func(context.Context) ([]netip.Addr, error)) ([]netip.Addr, error) {
	s.mu.Lock()
	old, known := s.known[n]
	s.mu.Unlock()
	if known && time.Now().Before(old.good) {
		return slices.Clone(old.addrs), nil
	}
	asking := ctx
	if known {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, nameStale)
		defer cancel()
	}
	addrs, err := ask(asking)
	switch {
	case err == nil:
		s.note(n, found{slices.Clone(addrs), time.Now().Add(nameFresh)})
		return addrs, nil
	case known && !isNotFound(err) && ctx.Err() == nil:
		return slices.Clone(old.addrs), nil
	}
	return nil, err
}

func (s *names) note(n name, a found) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxNames {
		s.known = map[name]found{}
	}
	s.known[n] = a
}

// doubt makes the next one ask for n anew: nobody is there.
func (s *names) doubt(n name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a, ok := s.known[n]; ok {
		a.good = time.Time{}
		s.known[n] = a
	}
}
