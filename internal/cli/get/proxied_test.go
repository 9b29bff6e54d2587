package get

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
)

// named are proxies by the host of a URL.
type named map[string]string

func (n named) For(u *url.URL) (*url.URL, error) {
	switch p := n[u.Hostname()]; p {
	case "":
		return nil, nil
	case "bad":
		return nil, errors.New("bad")
	default:
		return url.Parse(p)
	}
}

func TestTellOfProxy(t *testing.T) {
	lo := chosen{info: event.LinkInfo{Name: "lo"}, found: link.Info{Virtual: link.VirtualLoopback}}
	wlan := chosen{info: event.LinkInfo{Name: "wlan0"}}
	ask := named{"far": "http://u:secret@proxy.test:3128", "here": "http://u:secret@127.0.0.1:8118", "name": "http://localhost:1", "six": "http://[::1]:2", "bad": "bad"}
	for _, c := range []struct {
		urls      string
		links     []chosen
		important bool
		says      string
	}{
		{"none", []chosen{wlan}, false, ""},
		{"none bad", []chosen{wlan}, false, ""},
		{"none far here", []chosen{lo, wlan}, false, "requests go through the proxy proxy.test:3128: links lead to it, and no further"},
		{"here", []chosen{lo}, false, "requests go through the proxy 127.0.0.1:8118"},
		{"here", []chosen{lo, wlan}, true, "the proxy 127.0.0.1:8118 is on this machine, where link wlan0 does not lead"},
		{"name", []chosen{wlan}, true, "localhost:1 is on this machine"},
		{"six", []chosen{wlan}, true, "[::1]:2 is on this machine"},
	} {
		var urls []*url.URL
		for host := range strings.FieldsSeq(c.urls) {
			urls = append(urls, &url.URL{Scheme: "http", Host: host})
		}
		said, important := "", false
		tellOfProxy(ask, urls, c.links, func(i bool, text string) {
			if said != "" {
				t.Errorf("%s: said more than once", c.urls)
			}
			said, important = text, i
		})
		if !strings.Contains(said, c.says) || (said == "") != (c.says == "") || important != c.important || strings.Contains(said, "secret") {
			t.Errorf("%s: %q, important: %v", c.urls, said, important)
		}
	}
}
