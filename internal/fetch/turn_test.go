package fetch

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// deaf is a net with a host, dead.test, that never answers.
type deaf struct {
	hosts
	given atomic.Int32 // dials to it that were given up
}

func (d *deaf) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if addr == "dead.test:80" {
		<-ctx.Done()
		d.given.Add(1)
		return nil, ctx.Err()
	}
	return d.hosts.DialContext(ctx, network, addr)
}

// A host that does not answer delays no request to another one, wherever that was redirected
// from.
func TestADeadHostDoesNotDelayOthers(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 4}
	s := newRawServer(t, func(p *peer) {
		for r := p.request(); r != nil; r = p.request() {
			if r.Host == "dead.test" {
				p.say("HTTP/1.1 302 Found\r\nLocation: http://good.test/f\r\nContent-Length: 0\r\n\r\n")
				continue
			}
			p.part(b, 0, 1000, "")
		}
	})
	at := s.ln.Addr().String()
	d := &deaf{hosts: hosts{"good.test:80": at, "dead.test:8080": at}}
	c := clientOver(t, Config{ConnectTimeout: 5 * time.Second}, d)
	moved := parse(t, "http://dead.test:8080/f")
	must(t, c, moved, 0, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	one, two, three := c.Turn(parse(t, "http://dead.test/f")), c.Turn(parse(t, "http://good.test/f")), c.Turn(moved)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = one.Get(ctx, 0, 1000)
	}()
	for _, turn := range []*Turn{two, three} {
		r, err := turn.Get(t.Context(), 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		finish(t, r, part(t, b, 0, 1000))
	}
	if d.given.Load() > 0 {
		t.Error("other requests waited until the dead host was given up")
	}
	cancel()
	<-done
}
