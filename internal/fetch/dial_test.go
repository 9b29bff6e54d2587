package fetch

import (
	"context"
	"net"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"
)

// knocker is a Dialer that tries one address over two sockets; the first one connects, soon
// after the second has begun.
type knocker struct{ conn net.Conn }

func (k knocker) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	trace := httptrace.ContextClientTrace(ctx)
	trace.ConnectStart(network, addr)
	time.Sleep(250 * time.Millisecond)
	trace.ConnectStart(network, addr)
	time.Sleep(10 * time.Millisecond)
	trace.ConnectDone(network, addr, nil)
	return k.conn, nil
}

type connTo struct {
	net.Conn
	addr net.Addr
}

func (c connTo) RemoteAddr() net.Addr { return c.addr }

func TestAHandshakeBeganWithItsFirstSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
		_, rtt, err := timedDial(t.Context(), knocker{connTo{addr: to}}, to.String())
		if err != nil || rtt != 260*time.Millisecond {
			t.Errorf("%v, %v", rtt, err)
		}
	})
}
