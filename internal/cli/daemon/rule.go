package daemon

import (
	"errors"
	"net/netip"
	"net/url"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
)

// errLocal says why a URL is not downloaded.
var errLocal = errors.New("the URL leads to this machine or a link-local address: mlget daemon --allow-local permits that")

// urlRule says which URLs clients may have downloaded: not those of this machine, and not
// link-local ones, unless that is allowed. It implements aria2rpc.URLRule. Names that a name
// server lets lead there are refused when a link connects.
type urlRule struct{ local bool }

// Check implements aria2rpc.URLRule.
func (r urlRule) Check(uri string) error {
	u, err := flags.ParseURL(uri)
	if err != nil {
		return err
	}
	return r.check(u)
}

func (r urlRule) check(u *url.URL) error {
	if r.local {
		return nil
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if get.Here(u) || err == nil && addr.Unmap().IsLinkLocalUnicast() {
		return errLocal
	}
	return nil
}
