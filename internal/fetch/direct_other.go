//go:build !linux

package fetch

import "net"

// direct is for Linux, where it was measured.
func direct(c net.Conn, _ Trace) net.Conn { return c }

func dialled(c net.Conn) net.Conn { return c }
