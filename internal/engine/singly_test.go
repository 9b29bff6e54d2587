package engine

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// fewListener is the listener of a server that serves so many connections at a time, and
// accepts another one when one of these has ended.
type fewListener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	once   *sync.Once
}

func (l fewListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (l fewListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &placedConn{Conn: c, places: l.places}, nil
}

type placedConn struct {
	net.Conn
	places chan struct{}
	once   sync.Once
}

func (c *placedConn) Close() error {
	c.once.Do(func() { <-c.places })
	return c.Conn.Close()
}

// serveFew serves so many connections at a time, over each of them request after request.
func serveFew(t testing.TB, few int, h http.Handler) *httptest.Server {
	t.Helper()
	ln, err := listen(t, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener = fewListener{ln, make(chan struct{}, few), make(chan struct{}), new(sync.Once)}
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// A server that serves one connection at a time, or a few, keeps nobody waiting who closes
// those that have nothing to do. wget and curl, with their one connection, need a second.
func TestAServerServesFewConnectionsAtATime(t *testing.T) {
	t.Parallel()
	for _, few := range []int{1, 2, 3} {
		for _, links := range []int{1, 2} {
			for _, size := range []int64{1000, 700_000, 2_000_000} {
				for _, ranges := range []bool{true, false} {
					t.Run(fmt.Sprintf("%d/%d links/%d/%v", few, links, size, ranges), timeless(func(t *bubble) {
						shop := &shop{}
						if !ranges {
							shop.gate = func(w http.ResponseWriter, _ *http.Request, o *object) bool {
								o.whole(w)
								return true
							}
						}
						srv := serveFew(t, few, shop)
						var nets []*testLink
						for i := range links {
							nets = append(nets, &testLink{name: fmt.Sprint("l", i)})
						}
						r := newRig(t, nets...)
						r.cfg.Parallelism = 0
						r.cfg.StallTimeout = 30 * time.Second
						var wares []ware
						for i := range int64(6) {
							wares = append(wares, ware{base: srv, size: size + size/3*i})
						}
						began := time.Now()
						r.haul(t.Context(), Batch{}, wares...).right()
						if took := time.Since(began); took > 3*time.Second {
							t.Errorf("it took %v", took)
						}
					}))
				}
			}
		}
	}
	t.Run("one file", timeless(func(t *bubble) {
		o := newObject(20 * mib)
		r := newRig(t, &testLink{name: "a", rate: 10 * mib})
		r.cfg.Parallelism = 3
		began := time.Now()
		r.get(at(t, serveFew(t, 1, o), "", "/f")).right(o.body)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	}))
}
