package fetch

import "net"

// hangUp closes a connection, with a reset if its peer still owes unwanted bytes. After an
// ordinary close the peer would send on until it hears that the socket is gone, a round trip of
// wasted bytes; and that answer is no longer tied to the link, so it may leave by another one,
// be dropped, and keep a phone's radio awake for as long as the peer tries again.
func hangUp(raw net.Conn, owed bool) {
	if tcp, ok := kernels(raw).(*net.TCPConn); ok && owed {
		_ = tcp.SetLinger(0) // at worst it is closed in the ordinary way
	}
	_ = raw.Close()
}
