package emu

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// bufferBytes holds a packet of 1500 bytes and shows one that is longer.
const bufferBytes = 2048

// link is both directions of one link; one lock guards them, since they share
// what happens to the link and its memory of having been silent.
type link struct {
	clock *clock
	name  string
	ends  Ends
	addrs atomic.Pointer[[]netip.Addr] // the client's at present

	mu     sync.Mutex
	silent bool
	gone   bool          // the client has no device
	loss   float64       // 0..1
	delay  time.Duration // one way
	last   time.Duration // the last time that a packet came in
	since  time.Duration // when the link last woke up
	radio  *radio        // nil without a model
	bad    Impairment
	up     pipe
	down   pipe
}

// take moves packets from a port into a pipe until the port is closed.
func (l *link) take(p *pipe, from Port) {
	buf := make([]byte, bufferBytes)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return // closed, or the device was deleted: the link is dead either way
		}
		v := l.judge(buf[:n], p == &l.up)
		if v == noise {
			continue
		}
		if v == pass {
			l.clock.start()
		}
		now := l.clock.now()
		l.mu.Lock()
		if v == pass {
			if opening(buf[:n]) {
				p.stats.Opens++
			}
			l.radio.see(now, buf[:n], p == &l.up)
		}
		spare, wake := l.enter(p, buf, n, now, v)
		l.mu.Unlock()
		if wake {
			p.poke()
		}
		buf = spare
	}
}

// enter puts a packet into the pipe or drops it, and gives back a buffer for
// the next one. wake says that the pipe's other goroutine may be asleep.
func (l *link) enter(p *pipe, buf []byte, n int, now time.Duration, v verdict) (spare []byte, wake bool) {
	switch {
	case v == foreign && resetting(buf[:n]):
		p.stats.SourceResets++
		return buf, false
	case v == foreign:
		p.stats.SourceDrops++
		return buf, false
	case l.silent, l.gone:
		p.stats.DownDrops++
		return buf, false
	}
	// A packet still on its way keeps the link awake as one that comes in does.
	if idle := l.up.empty() && l.down.empty(); idle && now-l.last >= scenario.SilenceBeforeRamp {
		l.since = now
	}
	l.last = now
	if l.loses(p, buf[:n], now) {
		p.stats.LossDrops++
		return buf, false
	}
	if l.loss > 0 && p.rng.Float64() < l.loss {
		p.stats.LossDrops++
		return buf, false
	}
	p.advance(now, l.since, l.delay)
	if !p.fits(n, now, l.since) {
		p.stats.QueueDrops++
		return buf, false
	}
	wake = p.empty()
	p.push(buf[:n], now)
	l.impair(p)
	return p.spare(), wake
}

// give moves packets from a pipe to a port at their times.
func (l *link) give(p *pipe, to Port, done <-chan struct{}) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		now := l.clock.now()
		buf, wait := p.next(now, l.since, l.delay)
		if buf != nil {
			l.last = now
		}
		l.mu.Unlock()
		if buf != nil {
			n, err := to.Write(buf)
			l.mu.Lock()
			p.written(buf, n, err)
			l.mu.Unlock()
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-p.wake:
		case <-done:
			return
		}
	}
}

// apply makes an event happen now.
func (l *link) apply(e scenario.Event, planned bool) error {
	switch e.Kind {
	case scenario.CarrierOff:
		return l.ends.Client.SetCarrier(false)
	case scenario.CarrierOn:
		return l.ends.Client.SetCarrier(true)
	case scenario.Gone:
		if err := l.ends.Client.Leave(); err != nil {
			return err
		}
	case scenario.Back:
		addrs, err := l.ends.Client.Return()
		if err != nil {
			return err
		}
		l.addrs.Store(&addrs)
	case scenario.Down, scenario.Up, scenario.Rate, scenario.Loss, scenario.RTT:
	}
	now := l.clock.now()
	l.mu.Lock()
	// What has left by now left under the old conditions.
	l.up.advance(now, l.since, l.delay)
	l.down.advance(now, l.since, l.delay)
	switch e.Kind {
	case scenario.Down:
		l.silent = true
		l.up.clear(now)
		l.down.clear(now)
	case scenario.Up:
		l.silent = false
	case scenario.Gone:
		l.gone = true
		l.up.clear(now)
		l.down.clear(now)
	case scenario.Back:
		l.gone = false
	case scenario.Rate:
		if !planned {
			l.down.process = l.down.process.With(now, e.Value)
			l.down.inService = false
		}
	case scenario.Loss:
		l.loss = e.Value / 100
	case scenario.RTT:
		l.delay = time.Duration(e.Value / 2 * float64(time.Millisecond))
	case scenario.CarrierOff, scenario.CarrierOn:
	}
	l.mu.Unlock()
	l.up.poke()
	l.down.poke()
	return nil
}

// verdict is what a link makes of a packet's addresses.
type verdict uint8

const (
	pass    verdict = iota
	foreign         // it bears an address that is not of this link
	noise           // what a device says by itself: link-local, multicast, not IP
)

// judge looks at the address of the client in a packet.
func (l *link) judge(b []byte, fromClient bool) verdict {
	src, dst, ok := addresses(b)
	if !ok || dst.IsMulticast() || src.IsLinkLocalUnicast() || src.IsUnspecified() || dst.IsLinkLocalUnicast() {
		return noise
	}
	client := dst
	if fromClient {
		client = src
	}
	if !slices.Contains(*l.addrs.Load(), client) {
		return foreign
	}
	return pass
}

// addresses reads the source and destination of an IP packet.
func addresses(b []byte) (src, dst netip.Addr, ok bool) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		return netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), true
	case len(b) >= 40 && b[0]>>4 == 6:
		return netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), true
	}
	return src, dst, false
}
