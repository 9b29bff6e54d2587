package engine

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"testing"

	"github.com/mlget/mlget/internal/fetch"
)

// asks is a network that notes where it was asked to go, and does not.
type asks struct{ addr string }

func (*asks) Name() string { return "asks" }

func (n *asks) DialContext(_ context.Context, _, addr string) (net.Conn, error) {
	n.addr = addr
	return nil, net.ErrClosed
}

// TestPinnedHosts: a link whose server's answers differ goes where another link's do agree,
// whatever the letters of the host's name.
func TestPinnedHosts(t *testing.T) {
	for _, raw := range []string{"http://host.example/f", "http://b\u00fccher.example/f"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		n := &asks{}
		cfg := &fetch.Config{}
		r := newRoute(&Link{net: n}, cfg)
		r.pin(fetch.Hostname(u), netip.MustParseAddr("192.0.2.7"), cfg) // as disagree does
		_, _ = r.client(0).Get(t.Context(), u, 0, 10)
		if n.addr != "192.0.2.7:80" {
			t.Errorf("%s: %q was dialled", raw, n.addr)
		}
		r.close()
	}
}
