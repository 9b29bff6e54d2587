package sim

import (
	"math/rand/v2"
	"slices"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler"
)

// lossStream keeps the dice of losses apart from those of the links' wandering,
// which are seeded with the link's index alone.
const lossStream = 1 << 32

// fullShare of its rate is what a full link carries, rounding errors aside.
const fullShare = 0.999

// leastRTT stands for a round trip of nothing, which would make rates infinite.
const leastRTT = 100 * scheduler.Microsecond

// unknown stands for a time that has to be reckoned again.
const unknown scheduler.Time = -1

// link is a link and its connections.
type link struct {
	id            scheduler.LinkID
	name          string
	http2         bool
	single        bool           // a connection serves one request
	handshake     scheduler.Time // round trips before a request can be sent
	rampOnConnect bool
	depth         int     // requests on a connection
	crowded       bool    // its buffer overflows
	receive       float64 // bytes that a connection has in flight at most; 0: no bound
	perConn       float64 // bytes per second that it is sent at most; 0: no bound

	capacity capacity
	fastest  float64 // bytes per second, at its best
	rtt      scheduler.Time
	buffer   scheduler.Time // of the bottleneck, as time at the present rate
	dice     *rand.Rand     // which packets are lost
	meter    *meter         // its radio; nil: it has none

	events []scenario.Event // those to come
	state  scenario.State
	joinAt scheduler.Time // when a device that has come back is noticed; Never: none has
	downAt scheduler.Time
	since  scheduler.Time // when it woke up
	last   scheduler.Time // its last packet
	asleep bool           // down for so long that its rate builds up anew

	conns   []*conn
	waiting []*request     // for a connection that may take them
	shookAt scheduler.Time // when it was last looked for handshakes
	stood   scheduler.Time // see standing; unknown: to be reckoned again

	disorder float64        // packets that came out of order
	failures int            // timeouts in a row
	failed   scheduler.Time // when the latest of them was counted
	lost     bool           // given up
	told     bool           // where the object ends, by an answer without a byte of it
	// When the scheduler first and last heard of a byte.
	lastHeard scheduler.Time
	count     Link
}

func newLink(cfg *Config, index int) link {
	s := cfg.Scenario.Links[index]
	l := link{
		id: scheduler.LinkID(index), name: s.Name, http2: cfg.HTTP2, single: cfg.Single,
		handshake: scheduler.Time(1 + cfg.TLSTrips), rampOnConnect: cfg.RampOnConnect,
		depth: depth, receive: float64(cfg.Receive), perConn: cfg.PerConnection, crowded: cfg.Crowded,
		stood: unknown, rtt: max(leastRTT, toTime(s.RTT)), buffer: toTime(s.Queue), joinAt: scheduler.Never,
		capacity: capacity{
			process: scenario.NewProcess(cfg.Scenario, index, cfg.Seed),
			wanders: s.Vary > 0 || s.Trace != nil, trace: s.Trace != nil,
			ramp: toTime(s.Ramp), loss: s.LossPercent / 100,
		},
	}
	if index < len(cfg.Radios) && cfg.Radios[index].Name != "" {
		radio := cfg.Radios[index]
		radio.PerConn += s.PerConnection
		l.meter = &meter{machine: energy.NewMachine(radio, 0)}
	}
	if cfg.Batch != nil {
		l.depth = batchDepth
	}
	fastest := s.DownMbps
	for _, e := range cfg.Scenario.Events {
		if e.Link == s.Name {
			l.events = append(l.events, e)
			if e.Kind == scenario.Rate {
				fastest = max(fastest, e.Value)
			}
		}
	}
	l.fastest = fastest * (1 + s.Vary) * 1e6 / 8
	l.dice = rand.New(rand.NewPCG(cfg.Seed, lossStream+uint64(index)))
	return l
}

func (l *link) down() bool { return !l.state.Carries() }

// apply makes the events happen that are due.
func (l *link) apply(now scheduler.Time) {
	for len(l.events) > 0 && toTime(l.events[0].At) <= now {
		e := l.events[0]
		l.events = l.events[1:]
		if e.Kind == scenario.Back { // see arrive
			l.joinAt = toTime(e.At) + settleTime
			continue
		}
		was := l.down()
		l.state.Apply(e.Kind)
		switch e.Kind {
		case scenario.Loss:
			l.capacity.loss = e.Value / 100
		case scenario.RTT:
			l.setRTT(max(leastRTT, scheduler.FromSeconds(e.Value/1e3)))
		case scenario.Rate, scenario.Down, scenario.Up, scenario.CarrierOff, scenario.CarrierOn, scenario.Gone, scenario.Back:
			// the process knows of rates, the state of the others
		}
		if l.capacity.loss > 0 {
			l.close()
		}
		l.capacity.changed()
		switch is := l.down(); {
		case is && !was:
			l.goDown(now)
		case was && !is:
			l.comeUp(now)
		}
	}
}

// setRTT changes the round trip. A connection that filled the link keeps its window, which is
// what the link and its buffer held, and grows slowly from there: it is long past slow start.
func (l *link) setRTT(rtt scheduler.Time) {
	for _, c := range l.conns {
		if c.open && !c.ghost && rtt > l.rtt {
			c.open, c.lost, c.window = false, true, l.capacity.bps*(l.rtt+l.buffer).Seconds()
		}
	}
	l.rtt = rtt
}

// close makes the windows of all connections count again.
func (l *link) close() {
	l.stood = unknown
	for _, c := range l.conns {
		if c.open && !c.ghost {
			c.open, c.window = false, l.fastest*l.rtt.Seconds()
		}
	}
}

func (l *link) goDown(now scheduler.Time) {
	l.downAt = now
	for _, c := range l.conns {
		if c.ready > now {
			c.ready = scheduler.Never
		}
	}
}

// comeUp lets the connections go on when their next retransmission gets through.
func (l *link) comeUp(now scheduler.Time) {
	l.asleep = now-l.downAt >= toTime(scenario.SilenceBeforeRamp)
	l.drop(func(c *conn) bool { return c.ghost })
	for _, c := range l.conns {
		if c.ready == scheduler.Never {
			c.ready = connects(c.started, now, l.rtt, l.lastHeard > 0) + l.handshake*l.rtt
			for _, q := range c.queue {
				q.avail = c.ready + l.rtt
			}
			continue
		}
		rto := leastRTO + l.rtt
		resumed := retry(l.downAt, now, rto)
		for _, q := range c.queue {
			if q.sent >= l.downAt {
				q.avail = max(resumed, retry(q.sent, now, rto)+l.rtt)
			} else {
				q.avail = max(q.avail, resumed)
			}
			c.window, c.open, c.roundEnd = initialWindow, false, 0
		}
	}
}

// arrive makes a device that has come back usable: its connections begin anew.
func (l *link) arrive(now scheduler.Time) {
	l.joinAt = scheduler.Never
	l.conns, l.waiting, l.stood = nil, nil, unknown
	l.lost, l.failures = false, 0
	l.state.Apply(scenario.Back)
	l.capacity.changed()
	if !l.down() {
		l.comeUp(now)
	}
}

// drop takes connections away.
func (l *link) drop(gone func(*conn) bool) {
	l.conns, l.stood = slices.DeleteFunc(l.conns, gone), unknown
}

// touch notes that a packet is sent now.
func (l *link) touch(now scheduler.Time) {
	if l.down() {
		return
	}
	if now-l.last >= toTime(scenario.SilenceBeforeRamp) && !l.busy() {
		l.wake(now)
	}
	l.last = now
}

// connected says whether a connection has come about: a round trip after its
// first packet, before TLS.
func (l *link) connected(now scheduler.Time) bool {
	return slices.ContainsFunc(l.conns, func(c *conn) bool { return l.made(now, c) })
}

func (l *link) made(now scheduler.Time, c *conn) bool {
	return !c.ghost && c.ready != scheduler.Never && now >= c.ready-(l.handshake-1)*l.rtt
}

// shook is what a handshake took that has been made since it was last asked; 0: none has.
func (l *link) shook(now scheduler.Time) (shook scheduler.Time) {
	if l.shookAt == now { // a handshake takes time
		return 0
	}
	l.shookAt = now
	for _, c := range l.conns {
		if !c.told && l.made(now, c) {
			c.told, shook = true, c.shook
		}
	}
	return shook
}

func (l *link) wake(now scheduler.Time) {
	l.since, l.asleep = now, false
	l.capacity.changed()
}

func (l *link) busy() bool {
	for _, c := range l.conns {
		if len(c.queue) > 0 {
			return true
		}
	}
	return false
}

// working is how many connections have something to do.
func (l *link) working() (n int) {
	for _, c := range l.conns {
		if len(c.queue) > 0 && !c.ghost {
			n++
		}
	}
	return n
}

// plan sets the rates that hold from now on, and says until when they do.
func (l *link) plan(now scheduler.Time) (next scheduler.Time) {
	next, l.stood = l.joinAt, unknown
	if len(l.events) > 0 {
		next = min(next, toTime(l.events[0].At))
	}
	active := 0
	for _, c := range l.conns {
		c.rate, c.n = 0, 0
		if l.down() {
			continue
		}
		if c.n = c.streams(now, l.http2); c.n > 0 && !c.open {
			if now >= c.roundEnd {
				l.nextRound(now, c)
			}
			switch {
			case now < c.heldTill:
				c.n = 0
				next = min(next, c.heldTill)
			case c.spent():
				c.n = 0
				next = min(next, c.roundEnd)
			}
		}
		if c.n > 0 {
			active++
		}
		for i, q := range c.queue {
			if q.avail > now && (i == 0 || l.http2) {
				next = min(next, q.avail)
			}
		}
	}
	if active == 0 {
		return next
	}
	if l.asleep {
		l.wake(now)
	}
	total := l.capacity.at(now, l.since)
	next = min(next, l.capacity.until)
	l.share(total, active)
	for _, c := range l.conns {
		if c.n == 0 {
			continue
		}
		if !c.open {
			next = min(next, c.roundEnd, arrival(now, c.window-c.roundGot, c.rate))
		}
		c.rate /= float64(c.n)
		for i, q := range c.queue {
			if q.avail <= now && (i == 0 || l.http2) {
				next = min(next, arrival(now, q.target()-q.done, c.rate))
			}
		}
	}
	return next
}

// share divides the link's rate among its active connections, the same for all, or by
// their windows.
func (l *link) share(total float64, active int) {
	if l.crowded {
		l.shareByWindows(total)
	}
	for _, c := range l.conns {
		if c.n > 0 && !l.crowded {
			c.rate = total / float64(active)
		}
		if l.perConn > 0 {
			c.rate = min(c.rate, l.perConn)
		}
	}
}

// standing is how long a packet waits before the link at present: its buffer is half full,
// on average, when its connections could send more than it carries.
func (l *link) standing() scheduler.Time {
	if l.crowded {
		return l.queueing()
	}
	if l.stood != unknown {
		return l.stood
	}
	rate, open := 0.0, false
	for _, c := range l.conns {
		rate += float64(c.rate * float64(c.n))
		open = open || c.n > 0 && c.open
	}
	if l.stood = 0; open && rate >= fullShare*l.capacity.bps {
		l.stood = l.buffer / 2
	}
	return l.stood
}

// trip is a round trip of the data that comes, queues included.
func (l *link) trip() scheduler.Time {
	if l.crowded {
		return l.rtt + l.queueing()
	}
	return l.rtt + max(l.standing(), min(l.buffer/2, l.queueing()))
}

// arrival is when so many more bytes will be here.
func arrival(now scheduler.Time, bytes, rate float64) scheduler.Time {
	const farAway = 1e6 // seconds
	if rate <= 0 || bytes/rate > farAway {
		return scheduler.Never
	}
	return now + max(1, scheduler.FromSeconds(bytes/rate)+1)
}

// advance lets bytes arrive from one time to another, at the rates planned.
func (l *link) advance(from, to scheduler.Time) {
	seconds := (to - from).Seconds()
	crossed := 0.0
	for _, c := range l.conns {
		if c.n == 0 {
			continue
		}
		bytes := c.rate * seconds
		for i, q := range c.queue {
			if q.avail <= from && (i == 0 || l.http2) {
				q.done += float64(bytes)
				if q.parked > 0 { // all of it is there, and nothing follows
					q.done = min(q.done, float64(headerBytes+q.asked))
				}
			}
		}
		c.roundGot += float64(bytes * float64(c.n))
		crossed += float64(bytes * float64(c.n))
		c.lastData, l.last = to, to
	}
	if l.meter != nil && crossed > 0 {
		l.meter.receive(from, to, crossed, l.working())
	}
}
