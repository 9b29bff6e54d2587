package emu

import (
	"math/rand/v2"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// forever is a wait that something else will end.
const forever = time.Hour

// minQueuePackets fit into the queue of even the slowest link, so that a
// bound in time shorter than a packet does not close it.
const minQueuePackets = 2

// maxPackets bounds a pipe in number, for a flood of tiny packets.
const maxPackets = 1 << 17

// LinkStats is what a link has carried.
type LinkStats struct {
	Name string
	Down Stats // server to client
	Up   Stats // client to server
}

// Stats counts one direction of a link.
type Stats struct {
	Packets     int64 // delivered
	Bytes       int64 // of IP packets delivered
	QueueDrops  int64 // packets that found the queue full
	LossDrops   int64 // packets lost at random
	DownDrops   int64 // packets swallowed while the link was down
	SourceDrops int64 // packets with an address that is not of this link, but for SourceResets
	PortDrops   int64 // packets that the receiving device refused
	// SourceResets are those that reset a TCP connection: where its socket is closed, the
	// kernel answers by the default route, whatever device the socket was bound to.
	SourceResets int64
	Opens        int64 // packets that open a TCP connection, sent again or not, before any drop
}

// pipe is one direction of a link: a queue in front of a sender, and the
// packets that have been sent and are on their way. All of it is guarded by
// the link's lock, except for wake.
type pipe struct {
	process scenario.Process
	queue   time.Duration // the bound of the queue
	rng     *rand.Rand
	wake    chan struct{}
	stats   Stats
	radio   *radio // the client's; nil if it costs nothing
	uplink  bool   // from client to server

	ring        []packet // head <= sent <= tail, each modulo len(ring)
	head        uint64   // the next to be delivered
	sent        uint64   // the next to leave the queue
	tail        uint64   // where the next one comes in
	queuedBytes int      // of the packets in sent..tail
	free        [][]byte // buffers

	inService bool          // finish is valid
	finish    time.Duration // when the packet at sent will have left
	departed  time.Duration // when the last one left
	lastDue   time.Duration // keeps packets in order when the delay shrinks
}

type packet struct {
	buf     []byte
	arrived time.Duration
	due     time.Duration // valid once it has left the queue
}

func newPipe(p scenario.Process, queue time.Duration, src rand.Source) pipe {
	return pipe{process: p, queue: queue, rng: rand.New(src), wake: make(chan struct{}, 1), ring: make([]packet, 256)}
}

func (p *pipe) empty() bool         { return p.head == p.tail }
func (p *pipe) at(i uint64) *packet { return &p.ring[i&uint64(len(p.ring)-1)] }
func (p *pipe) recycle(b []byte)    { p.free = append(p.free, b[:bufferBytes]) }
func bitsOf(b []byte) float64       { return float64(len(b)) * 8 }

// poke wakes the goroutine that hands packets out.
func (p *pipe) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// spare is a buffer to read into.
func (p *pipe) spare() []byte {
	if n := len(p.free); n > 0 {
		b := p.free[n-1]
		p.free = p.free[:n-1]
		return b
	}
	return make([]byte, bufferBytes)
}

// fits says whether n more bytes find room in the queue; the pipe must have
// been advanced to now.
func (p *pipe) fits(n int, now, since time.Duration) bool {
	if p.tail-p.head >= maxPackets {
		return false
	}
	if p.tail-p.sent < minQueuePackets {
		return true
	}
	seconds := float64(p.queuedBytes+n) * 8 / p.process.Nominal(now, since)
	return seconds <= p.queue.Seconds()
}

func (p *pipe) push(b []byte, now time.Duration) {
	if n := uint64(len(p.ring)); p.tail-p.head == n {
		bigger := make([]packet, 2*n)
		for i := p.head; i != p.tail; i++ {
			bigger[i&(2*n-1)] = *p.at(i)
		}
		p.ring = bigger
	}
	*p.at(p.tail) = packet{buf: b, arrived: now}
	p.tail++
	p.queuedBytes += len(b)
}

// advance lets every packet leave the queue that has left it by now.
func (p *pipe) advance(now, since, delay time.Duration) {
	for p.sent != p.tail {
		k := p.at(p.sent)
		if !p.inService {
			p.finish = p.process.Finish(max(p.departed, k.arrived), since, bitsOf(k.buf))
			p.inService = true
		}
		if p.finish > now {
			return
		}
		p.departed = p.finish
		p.inService = false
		k.due = max(p.finish+delay, p.lastDue)
		p.lastDue = k.due
		p.queuedBytes -= len(k.buf)
		p.sent++
		if p.uplink {
			p.radio.cross(p.finish, 0, len(k.buf))
		}
	}
}

// next is the packet that is due, or nil and how long to wait. The packet is
// no longer in the pipe; its buffer comes back through written.
func (p *pipe) next(now, since, delay time.Duration) (buf []byte, wait time.Duration) {
	p.advance(now, since, delay)
	switch {
	case p.empty():
		return nil, forever
	case p.head == p.sent:
		return nil, max(p.finish+delay, p.lastDue) - now
	}
	k := p.at(p.head)
	if k.due > now {
		return nil, k.due - now
	}
	p.head++
	if !p.uplink {
		p.radio.cross(k.due, len(k.buf), 0)
	}
	return k.buf, 0
}

// written counts a packet that was handed out and takes its buffer back.
func (p *pipe) written(buf []byte, n int, err error) {
	if err != nil || n != len(buf) {
		p.stats.PortDrops++
	} else {
		p.stats.Packets++
		p.stats.Bytes += int64(n)
	}
	p.recycle(buf)
}

// clear swallows everything that is queued or on its way.
func (p *pipe) clear(now time.Duration) {
	for ; p.head != p.tail; p.head++ {
		p.recycle(p.at(p.head).buf)
		p.stats.DownDrops++
	}
	p.sent = p.tail
	p.queuedBytes = 0
	p.inService = false
	p.departed, p.lastDue = now, now
}
