package emu

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Impairment is what a link does to packets beside losing them: faults of a path
// that a model of rates has no words for, so that scenarios cannot ask for them.
// The zero value does nothing.
type Impairment struct {
	MTU        int     // bytes of a packet above which it vanishes, without a word to its sender; 0: none
	Duplicate  float64 // of the packets, 0..1, come twice
	Reorder    float64 // of the packets, 0..1, change places with one that came in a few before
	Scramble   float64 // of TCP's full segments, 0..1, have wrong bytes and a right checksum
	LoseToward Toward  // all packets of one direction vanish
	LoseUp     float64 // of the client's packets, 0..1, vanish
	LoseNew    bool    // what opens a connection vanishes; those that there are live on
	// Unreachable is the share of the client's packets, 0..1, that vanish and are
	// answered by an ICMP message that the server's host cannot be reached. IPv4 only.
	Unreachable float64
}

// Toward is a direction.
type Toward uint8

// The directions.
const (
	Nowhere Toward = iota
	Client
	Server
)

// Impair makes a link treat its packets so from now on.
func (e *Emulator) Impair(link string, i Impairment) error {
	for _, l := range e.links {
		if l.name == link {
			l.mu.Lock()
			l.bad = i
			l.mu.Unlock()
			return nil
		}
	}
	return fmt.Errorf("there is no link %q", link)
}

// loses says whether a packet vanishes. The link's lock is held.
func (l *link) loses(p *pipe, b []byte, now time.Duration) bool {
	i, up := l.bad, p == &l.up
	switch {
	case i == (Impairment{}):
		return false
	case i.MTU > 0 && len(b) > i.MTU, i.LoseToward == Client && !up, i.LoseToward == Server && up:
		return true
	case !up:
		return false
	case i.LoseNew && opening(b):
		return true
	case i.Unreachable > 0 && p.rng.Float64() < i.Unreachable:
		l.refuse(b, now)
		return true
	}
	return i.LoseUp > 0 && p.rng.Float64() < i.LoseUp
}

// refuse answers a packet of the client's with "host unreachable" (RFC 792), in the
// name of whom it was sent to.
func (l *link) refuse(b []byte, now time.Duration) {
	const header, icmp, quoted = 20, 8, 28 // bytes; of the packet, its header and eight bytes are quoted
	if len(b) < quoted || b[0] != 0x45 || l.down.tail-l.down.head >= maxPackets {
		return
	}
	buf := l.down.spare()
	m := buf[:header+icmp+quoted]
	clear(m)
	m[0], m[8], m[9] = 0x45, 64, 1 // IPv4 without options; a life of 64 hops; ICMP
	binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
	copy(m[12:16], b[16:20])
	copy(m[16:20], b[12:16])
	m[header], m[header+1] = 3, 1 // destination unreachable; host
	copy(m[header+icmp:], b[:quoted])
	binary.BigEndian.PutUint16(m[10:], internetSum(m[:header]))
	binary.BigEndian.PutUint16(m[header+2:], internetSum(m[header:]))
	l.down.push(m, now)
	l.down.poke()
}

// internetSum is the Internet's checksum (RFC 1071) of an even number of bytes.
func internetSum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// reorderBy is by how many packets one is late: more than the three duplicate
// acknowledgements that TCP takes for a loss.
const reorderBy = 5

// impair does to the packet that came in last what is done to some of them. The
// link's lock is held.
func (l *link) impair(p *pipe) {
	i := l.bad
	if i == (Impairment{}) {
		return
	}
	k := p.at(p.tail - 1)
	if i.Scramble > 0 && p.rng.Float64() < i.Scramble {
		scramble(k.buf)
	}
	if i.Duplicate > 0 && p.rng.Float64() < i.Duplicate && p.tail-p.head < maxPackets {
		again := p.spare()
		p.push(again[:copy(again, k.buf)], k.arrived)
	}
	if i.Reorder > 0 && p.tail-p.head > reorderBy && p.rng.Float64() < i.Reorder {
		// Of equal size, so that nothing else changes with them.
		if a, b := p.at(p.tail-1), p.at(p.tail-1-reorderBy); len(a.buf) == len(b.buf) {
			a.buf, b.buf = b.buf, a.buf
		}
	}
}

// scramble exchanges two words of a segment's payload, which its checksum, being
// a sum, does not notice.
func scramble(b []byte) {
	const (
		full     = 1000 // bytes; what is smaller is not scrambled
		one, two = 400, 640
	)
	if len(b) < full || tcpHeader(b) == nil {
		return
	}
	x, y := b[one:one+2], b[two:two+2]
	if v, w := binary.NativeEndian.Uint16(x), binary.NativeEndian.Uint16(y); v != w {
		binary.NativeEndian.PutUint16(x, w)
		binary.NativeEndian.PutUint16(y, v)
	}
}
