package emu

import (
	"encoding/binary"
	"time"
)

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

// resetting says whether a packet resets a TCP connection.
func resetting(b []byte) bool {
	h := tcpHeader(b)
	return h != nil && h[13]&rst != 0
}

// change is what a packet means for its connection.
type change uint8

const (
	nothing change = iota
	opened
	used
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
		c = used
	}
	client, server := binary.BigEndian.Uint16(h), binary.BigEndian.Uint16(h[2:])
	if !fromClient {
		client, server = server, client
	}
	return uint64(b[0]>>4)<<32 | uint64(client)<<16 | uint64(server), c
}

const (
	// mostConnections bounds the table, whatever a client sends.
	mostConnections = 1 << 16
	// silence is how long after its last packet a connection still counts as being
	// at work: more than any round trip of a scenario that charges for them, so
	// that waiting for an answer is work.
	silence = time.Second
	// countEvery is how often the silent ones are counted out.
	countEvery = 100 * time.Millisecond
)

// connections are those that are open, and how many of them are at work.
type connections struct {
	last    map[uint64]time.Duration // when the last packet was seen
	working int                      // of them, those that were not silent at counted
	counted time.Duration
}

func newConnections() *connections { return &connections{last: map[uint64]time.Duration{}} }

// atWork is how many are at work; none without a table.
func (s *connections) atWork() int {
	if s == nil {
		return 0
	}
	return s.working
}

// see takes note of a packet, and says whether another number is at work from
// now on.
func (s *connections) see(now time.Duration, key uint64, c change) (working int) {
	last, open := s.last[key]
	idle := !open || s.counted-last > silence // so it was counted
	working = s.working
	switch {
	case c == ended && open:
		delete(s.last, key)
		if !idle {
			working--
		}
	case c == opened && len(s.last) < mostConnections, c == used && open:
		s.last[key] = now
		if idle {
			working++
		}
	}
	return working
}

// count counts anew, if it is time to.
func (s *connections) count(now time.Duration) (working int) {
	if now-s.counted < countEvery {
		return s.working
	}
	s.counted = now
	for _, last := range s.last {
		if now-last <= silence {
			working++
		}
	}
	return working
}
