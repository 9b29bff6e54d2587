package hostile

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
)

// keyRequests is how many requests a signed URL is good for, where all expire.
const keyRequests = 3

// keyOf names a key: its client and its object.
type keyOf struct {
	edge netip.Addr
	n    int
}

// signature is the key that holds for a client and an object.
type signature struct {
	key  atomic.Int64
	used atomic.Int64 // requests with it
}

func (s *Server) signature(edge netip.Addr, n int) *signature {
	k, _ := s.keys.LoadOrStore(keyOf{edge, n}, &signature{})
	return k.(*signature)
}

// signed is a URL that is good for now.
func (s *Server) signed(edge netip.Addr, n int) string {
	return signed + Name(n) + "?key=" + strconv.FormatInt(s.signature(edge, n).key.Load(), 10)
}

// expired says whether a signed URL is not good any more.
func (s *Server) expired(r *http.Request, edge netip.Addr, n int) bool {
	k := s.signature(edge, n)
	now := k.key.Load()
	if r.URL.Query().Get("key") != strconv.FormatInt(now, 10) {
		return true
	}
	switch {
	case s.cfg.Fault.Times > 0:
		if s.strike(edge) {
			return k.key.CompareAndSwap(now, now+1)
		}
	case s.due(edge) && k.used.Add(1)%(keyRequests+1) == 0:
		s.struck.Add(1)
		return k.key.CompareAndSwap(now, now+1)
	}
	return false
}
