package fetch

import (
	"net/url"
	"sync"
)

// Origins is a set of origins: each a scheme, host and port. Its zero value is empty and
// ready; its methods may be called from any goroutine.
type Origins struct {
	mu  sync.RWMutex
	all map[originKey]struct{}
}

// Add adds u's origin.
func (o *Origins) Add(u *url.URL) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[originKey]struct{})
	}
	o.all[originOf(u)] = struct{}{}
}

// has says whether u's origin is one of them; nil has all.
func (o *Origins) has(u *url.URL) bool {
	if o == nil {
		return true
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	_, ok := o.all[originOf(u)]
	return ok
}
