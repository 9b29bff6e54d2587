package fetch

import "net"

// hangUp closes a connection, and with a reset if its peer still owes something
// that nobody wants any more. Closed in the ordinary way it would send on until
// it hears that the socket is gone: a round trip of wasted bytes; and that answer
// no longer knows the link to which the socket was tied, so that it may leave by
// another one, be dropped on the way, and keep a phone's radio awake for as long
// as the peer tries again.
func hangUp(raw net.Conn, owed bool) {
	if tcp, ok := kernels(raw).(*net.TCPConn); ok && owed {
		_ = tcp.SetLinger(0) // at worst it is closed in the ordinary way
	}
	_ = raw.Close()
}
