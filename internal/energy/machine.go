package energy

// State is the state of a radio.
type State uint8

// The states of a radio, in the order in which it passes through them.
const (
	Idle      State = iota // nothing has crossed for long
	Promotion              // waking up
	Active                 // bytes cross, or did so within Hold
	Tail                   // nothing crosses, but more might
	states
)

// String is the state's name, as used in reports.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Promotion:
		return "promotion"
	case Active:
		return "active"
	case Tail:
		return "tail"
	case states:
	}
	return "unknown"
}

// Machine is one radio in time. It is driven by Step alone, and counts
// nanoseconds and bytes in integers: two histories that say the same in
// different steps give the same energy to the last bit.
//
// A Machine is a value: a copy is a rehearsal of what would come.
type Machine struct {
	radio Radio
	now   int64 // ns

	state    State
	promoted int64 // when this promotion is over, ns
	quiet    int64 // when the last byte crossed, or the promotion for it ended, ns

	in    [states]int64 // time spent in each state, ns
	conns int64         // open connections times ns, while Active
	down  int64         // bytes
	up    int64         // bytes
}

// NewMachine returns a radio that is idle at start (ns).
func NewMachine(radio Radio, start int64) Machine {
	radio.Hold = min(radio.Hold, radio.TailTime)
	return Machine{radio: radio, now: start}
}

// Step tells that between the last call and now (ns) down and up bytes have
// crossed the radio, evenly over that time, and that conns connections were
// open. No bytes means that it was quiet: after a silence, call Step(now, 0, 0,
// conns) where traffic begins, or the silence counts as traffic. A call at the
// time of the last one makes its bytes cross at that instant.
//
// Bytes that find the radio idle wake it: the promotion begins with the first
// of them, whether or not it delays them. The tail counts from the last byte,
// or from the end of the promotion where that is later.
//
// An earlier now than the last is taken for the last; fewer than no bytes or
// connections for none.
func (m *Machine) Step(now, down, up int64, conns int) {
	now = max(now, m.now)
	down, up = max(down, 0), max(up, 0)
	if down == 0 && up == 0 {
		m.pass(now, conns)
		return
	}
	m.down += down
	m.up += up
	switch m.state {
	case Idle:
		m.state = Promotion
		m.promoted = m.now + int64(m.radio.PromotionTime)
	case Tail:
		m.state = Active
	case Promotion, Active, states:
	}
	if m.state == Promotion {
		m.spend(min(now, m.promoted), conns)
		if m.now < m.promoted {
			return
		}
		m.state = Active
	}
	m.spend(now, conns)
	m.quiet = now
	m.pass(now, conns)
}

// pass lets the time go by until now without a byte.
func (m *Machine) pass(now int64, conns int) {
	for m.state != Idle && m.ends() <= now {
		m.spend(m.ends(), conns)
		switch m.state {
		case Promotion:
			m.state = Active
			m.quiet = m.now
		case Active:
			m.state = Tail
		case Tail, Idle, states:
			m.state = Idle
		}
	}
	m.spend(now, conns)
}

// ends is when the present state is over if no more bytes cross.
func (m *Machine) ends() int64 {
	switch m.state {
	case Promotion:
		return m.promoted
	case Active:
		return m.quiet + int64(m.radio.Hold)
	case Tail:
		return m.quiet + int64(m.radio.TailTime)
	case Idle, states:
	}
	return m.now
}

// spend stays in the present state until t.
func (m *Machine) spend(t int64, conns int) {
	d := t - m.now
	m.now = t
	m.in[m.state] += d
	if m.state == Active {
		m.conns += d * int64(max(conns, 0))
	}
}

// State is the radio's present state. A state lasts from its first nanosecond to the one before
// its end: at the end of its tail a radio is idle.
func (m *Machine) State() State { return m.state }

// IdleAt is when the radio will be idle if no more bytes cross it (ns); it is
// the time of the last Step if it is idle already.
func (m *Machine) IdleAt() int64 {
	switch m.state {
	case Promotion:
		return m.promoted + int64(m.radio.TailTime)
	case Active, Tail:
		return m.quiet + int64(m.radio.TailTime)
	case Idle, states:
	}
	return m.now
}

// Energy is a radio's energy, by state. All of it is modelled.
type Energy struct {
	Idle      float64 // J
	Promotion float64 // J
	Transfer  float64 // J while active, and for the bytes
	Tail      float64 // J
	Dynamic   float64 // J of all these beyond what idling all the time would have cost
}

// Total is the energy of all states, in J.
func (e Energy) Total() float64 { return e.Idle + e.Promotion + e.Transfer + e.Tail }

// Sub is the energy since an earlier reading.
func (e Energy) Sub(earlier Energy) Energy {
	return Energy{
		Idle:      e.Idle - earlier.Idle,
		Promotion: e.Promotion - earlier.Promotion,
		Transfer:  e.Transfer - earlier.Transfer,
		Tail:      e.Tail - earlier.Tail,
		Dynamic:   e.Dynamic - earlier.Dynamic,
	}
}

// Energy is the radio's energy from its start to the last Step, exactly: it knows the time in
// each state and every byte, and samples nothing.
func (m *Machine) Energy() Energy {
	r := &m.radio
	e := Energy{
		Idle:      milliwattNanos * r.Idle * float64(m.in[Idle]),
		Promotion: milliwattNanos * r.Promotion * float64(m.in[Promotion]),
		Transfer: milliwattNanos*(r.Active*float64(m.in[Active])+r.PerConn*float64(m.conns)) +
			1e-3*mbitPerByte*(r.Down*float64(m.down)+r.Up*float64(m.up)),
		Tail: milliwattNanos * r.Tail * float64(m.in[Tail]),
	}
	e.Dynamic = e.Promotion + e.Transfer + e.Tail -
		milliwattNanos*r.Idle*float64(m.in[Promotion]+m.in[Active]+m.in[Tail])
	return e
}
