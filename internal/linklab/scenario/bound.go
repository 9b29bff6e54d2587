package scenario

import (
	"errors"
	"time"
)

// Goodput is the part of a link's rate that is payload: 1448 of the 1500 bytes
// of a full packet with TCP timestamps, rounded as in the project's formulas.
const Goodput = 0.965

// ErrNever says that the links of a scenario never carry the bytes asked for.
var ErrNever = errors.New("the links never carry that much within a day")

// Bound is the fluid bound of a scenario: the least time in which its links
// together could carry size bytes of payload,
//
//	T* = min{T : sum over links of the integral of goodput from d to T >= size}
//
// with d = 2 RTT in clear and 3 RTT with TLS 1.3, counted like the events from
// the first packet, and with the rates that the emulator plays for the same
// seed. Every link is taken to be in use from time 0, and again from the
// moment at which it is back. Lost packets count as rate that is not there;
// what a congestion control loses beyond that does not.
func Bound(s Scenario, seed uint64, size int64, tls bool) (time.Duration, error) {
	s, err := s.Complete()
	if err != nil {
		return 0, err
	}
	flows := make([]flow, len(s.Links))
	for i := range s.Links {
		flows[i] = newFlow(s, i, seed, tls)
	}
	need := float64(size) * 8
	for t := time.Duration(0); t < MaxAt; t += Tick {
		sum, over := 0.0, true
		for i := range flows {
			sum += flows[i].bits(t)
			over = over && flows[i].over()
		}
		if sum >= need {
			if sum == 0 {
				return t, nil
			}
			return t + time.Duration(need/sum*float64(Tick)), nil
		}
		if over {
			break
		}
		need -= sum
	}
	return 0, ErrNever
}

// flow is one link as the bound sees it, moving through time tick by tick.
type flow struct {
	process Process
	ready   time.Duration // when payload can begin to come
	events  []Event       // of this link, those to come
	loss    float64       // 0..1
	since   time.Duration // when the link woke up
	state   State
	left    time.Duration // when it ceased to carry anything
}

func newFlow(s Scenario, index int, seed uint64, tls bool) flow {
	l := s.Links[index]
	rtts := time.Duration(2)
	if tls {
		rtts = 3
	}
	f := flow{process: NewProcess(s, index, seed), ready: rtts * l.RTT, loss: l.LossPercent / 100}
	for _, e := range s.Events {
		if e.Link == l.Name {
			f.events = append(f.events, e)
		}
	}
	return f
}

// bits is what the link can carry in the tick that begins at t; ticks must be
// asked for in order.
func (f *flow) bits(t time.Duration) float64 {
	for len(f.events) > 0 && f.events[0].At < t+Tick/2 {
		f.apply(f.events[0])
		f.events = f.events[1:]
	}
	from := max(t, f.ready)
	if !f.state.Carries() || from >= t+Tick {
		return 0
	}
	return f.process.Bits(from, t+Tick, f.since) * Goodput * (1 - f.loss)
}

// over says that the link will never carry anything again.
func (f *flow) over() bool {
	return len(f.events) == 0 && (!f.state.Carries() || f.loss == 1)
}

func (f *flow) apply(e Event) {
	was := f.state.Carries()
	f.state.Apply(e.Kind)
	if e.Kind == Loss { // a rate is in the process, a round trip is over by then
		f.loss = e.Value / 100
	}
	switch is := f.state.Carries(); {
	case was && !is:
		f.left = e.At
	case is && !was && e.At-f.left >= SilenceBeforeRamp:
		f.since = e.At
	}
}
