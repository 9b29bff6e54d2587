package emu

import "encoding/binary"

// TCP's flags.
const (
	fin = 0x01
	syn = 0x02
	rst = 0x04
	ack = 0x10
)

// tcpHeader is the TCP header of an IP packet, of 20 bytes at least; nil if it
// has none right behind its IP header.
func tcpHeader(b []byte) []byte {
	const tcp = 6
	at := 40
	switch {
	case len(b) >= 20 && b[0]>>4 == 4 && b[9] == tcp:
		at = int(b[0]&15) * 4
	case len(b) >= 40 && b[0]>>4 == 6 && b[6] == tcp:
	default:
		return nil
	}
	if at < 20 || len(b) < at+20 {
		return nil
	}
	return b[at:]
}

// opening says whether a packet asks for a TCP connection.
func opening(b []byte) bool {
	h := tcpHeader(b)
	return h != nil && h[13]&(syn|ack) == syn
}

// change is what a packet means for its connection.
type change uint8

const (
	nothing change = iota
	opened
	ended
)

// connectionOf is the key of a packet's connection, which is none but that of one
// client's and one server's address: its ports, and the version of IP.
func connectionOf(b []byte, fromClient bool) (key uint64, c change) {
	h := tcpHeader(b)
	if h == nil {
		return 0, nothing
	}
	switch flags := h[13]; {
	case flags&(fin|rst) != 0:
		c = ended
	case flags&(syn|ack) == syn && fromClient:
		c = opened
	default:
		return 0, nothing
	}
	client, server := binary.BigEndian.Uint16(h), binary.BigEndian.Uint16(h[2:])
	if !fromClient {
		client, server = server, client
	}
	return uint64(b[0]>>4)<<32 | uint64(client)<<16 | uint64(server), c
}

// mostConnections bounds the table, whatever a client sends.
const mostConnections = 1 << 16

// connections are those that are open.
type connections map[uint64]struct{}

func (s connections) apply(key uint64, c change) {
	switch {
	case c == ended:
		delete(s, key)
	case c == opened && len(s) < mostConnections:
		s[key] = struct{}{}
	}
}
