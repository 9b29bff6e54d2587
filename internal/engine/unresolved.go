package engine

import (
	"errors"
	"net"
	"strings"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// nameTriesMost is how often a link that works asks for a name of which its name servers
// cannot say whether there is one: they may be away for some seconds.
const nameTriesMost = 6

// nameError is the failure to resolve a name in err's chain; nil: there is none.
func nameError(err error) *net.DNSError {
	dns, _ := errors.AsType[*net.DNSError](err)
	return dns
}

// named says whether it is the name in a file's URL that could not be resolved, not
// that of a proxy, or of where the server has sent the request on to.
func named(f *file, dns *net.DNSError) bool {
	return dns != nil && strings.EqualFold(dns.Name, fetch.Hostname(f.job.URL))
}

// nameTries is how often a link asks for a name of a batch's, as a download alone does:
// who says that there is none is believed, and before its first response a link is not
// more patient than that.
func (b *batch) nameTries(id scheduler.LinkID, dns *net.DNSError) int {
	most := nameTriesMost
	switch {
	case dns.IsNotFound:
		return 1
	case !b.links[id].responses.answered:
		most = unresolvedTries
	}
	if n := b.e.cfg.Tries; n > 0 {
		most = min(most, n)
	}
	return most
}
