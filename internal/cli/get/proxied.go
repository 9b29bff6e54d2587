package get

import (
	"fmt"
	"net/url"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
)

// tellOfProxy says, of the first URL that goes through a proxy, what that means for
// the links: the proxy is reached over each of them, and how it reaches the server
// is its own affair. A proxy on this machine is a warning: all links but loopback
// lead away from it.
func tellOfProxy(ask fetch.Proxies, urls []*url.URL, links []chosen, warn func(important bool, text string)) {
	for _, u := range urls {
		p, err := ask.For(u)
		if err != nil || p == nil {
			continue
		}
		if namesLoopback(p.Hostname()) {
			for _, l := range links {
				if l.found.Virtual != link.VirtualLoopback {
					warn(true, fmt.Sprintf("the proxy %s is on this machine, where link %s does not lead", p.Host, l.info.Name))
					return
				}
			}
		}
		warn(false, fmt.Sprintf("requests go through the proxy %s: links lead to it, and no further", p.Host))
		return
	}
}
