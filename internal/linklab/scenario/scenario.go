// Package scenario describes emulated links: their rates, delays and losses,
// and what happens to them at which moment. It holds the text format, the
// scenarios that are built in, the rate of a link as a pure function of time,
// and the fluid bound that follows from it.
//
// Everything here is a plain value without state or clock: safe for use by
// several goroutines as long as none of them writes to a value that is shared.
package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/energy"
)

// Limits of what a scenario may ask for. They keep the arithmetic far from
// overflow and a mistyped unit from looking like a very strange link.
const (
	MinMbps  = 0.01
	MaxMbps  = 10000
	MaxRTT   = 10 * time.Second
	MaxQueue = time.Minute
	MaxRamp  = 10 * time.Minute
	MaxAt    = 24 * time.Hour
	// MaxPerConnection is in mW.
	MaxPerConnection = 10000

	MaxLinks  = 16
	MaxEvents = 1000
	maxName   = 15 // IFNAMSIZ less its final zero
)

// DefaultRamp0 is the fraction of its rate at which a link with a ramp starts.
const DefaultRamp0 = 0.25

// SilenceBeforeRamp is how long a link must be silent before its rate has to
// build up again, as an LTE modem gives back its secondary carriers.
const SilenceBeforeRamp = time.Second

// Link is one emulated link. Rates count whole IP packets, in both directions
// separately; RTT is the sum of both directions' delays on an empty queue.
type Link struct {
	Name     string        // the device's name in the client's namespace
	DownMbps float64       // 10^6 bit/s from server to client
	UpMbps   float64       // 10^6 bit/s from client to server; 0 = max(10, DownMbps/4)
	RTT      time.Duration // 0 = none
	// Queue bounds the drop-tail buffer of either direction, as the time its
	// content takes at the current rate; 0 = max(100 ms, 1.5 RTT). That is
	// more than the 0.43 RTT that CUBIC needs so as not to run dry after
	// halving to 0.7, and little enough not to hide a link's RTT completely.
	Queue       time.Duration
	LossPercent float64       // of packets, in each direction, at random
	Ramp        time.Duration // build-up of the downward rate after silence; 0 = none
	Ramp0       float64       // fraction of the rate at the start of a ramp; 0 = DefaultRamp0
	Vary        float64       // 0..1: the downward rate wanders within DownMbps*(1±Vary)
	Trace       *Trace        // shape of the downward rate; nil = constant
	Power       string        // name of the radio's model in internal/energy; empty: it costs nothing
	// PerConnection is what each open TCP connection adds to what the radio's model
	// draws while bytes cross, in mW: the κ of Guner and Kosar's tuning. 0 without
	// a model.
	PerConnection float64
}

// Kind says what an Event does to its link.
type Kind uint8

// The kinds of event.
const (
	Down       Kind = iota // packets vanish silently, both ways
	Up                     // packets pass again
	Rate                   // Value is the new downward rate in Mbit/s
	Loss                   // Value is the new loss in percent
	RTT                    // Value is the new round-trip time in ms
	CarrierOff             // the client's device loses its carrier
	CarrierOn              // the client's device has its carrier back
	Gone                   // the client's device vanishes, with its addresses and routes
	Back                   // it is there again, as another device with other addresses
)

// Event changes a link at a moment counted from the first packet that the
// client sends over any link. What happens at 0 has happened before that packet.
type Event struct {
	At    time.Duration
	Link  string
	Kind  Kind
	Value float64
}

// Scenario is a set of links and what happens to them.
type Scenario struct {
	Name   string
	About  string // one line for people
	Links  []Link
	Events []Event // in order of At
}

// Complete checks a scenario and returns a copy with the defaults filled in
// and the events in order of time.
func (s Scenario) Complete() (Scenario, error) {
	if len(s.Links) == 0 {
		return s, errors.New("a scenario needs at least one link")
	}
	if len(s.Links) > MaxLinks {
		return s, fmt.Errorf("%d links: at most %d are possible", len(s.Links), MaxLinks)
	}
	if len(s.Events) > MaxEvents {
		return s, fmt.Errorf("%d events: at most %d are possible", len(s.Events), MaxEvents)
	}
	s.Links = slices.Clone(s.Links)
	for i := range s.Links {
		l, err := s.Links[i].complete()
		if err != nil {
			return s, err
		}
		s.Links[i] = l
		if slices.ContainsFunc(s.Links[:i], func(o Link) bool { return o.Name == l.Name }) {
			return s, fmt.Errorf("link %s: named twice", l.Name)
		}
	}
	s.Events = slices.Clone(s.Events)
	for _, e := range s.Events {
		if err := s.CheckEvent(e); err != nil {
			return s, err
		}
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return s, nil
}

// CheckEvent says whether the event makes sense in this scenario.
func (s Scenario) CheckEvent(e Event) error {
	if !s.has(e.Link) {
		return fmt.Errorf("event: no link named %q", e.Link)
	}
	if e.At < 0 || e.At > MaxAt {
		return fmt.Errorf("event of %s: time %v: must be within 0..%v", e.Link, e.At, MaxAt)
	}
	var err error
	switch e.Kind {
	case Rate:
		err = within("rate", e.Value, MinMbps, MaxMbps)
	case Loss:
		err = within("loss", e.Value, 0, 100)
	case RTT:
		err = within("rtt", e.Value, 0, ms(MaxRTT))
	case Down, Up, CarrierOff, CarrierOn, Gone, Back:
	}
	if err != nil {
		return fmt.Errorf("event of %s: %w", e.Link, err)
	}
	return nil
}

// has says whether there is a link of that name.
func (s Scenario) has(link string) bool {
	return slices.ContainsFunc(s.Links, func(l Link) bool { return l.Name == link })
}

func (l Link) complete() (Link, error) {
	if err := checkName(l.Name); err != nil {
		return l, err
	}
	if l.Trace != nil && l.DownMbps == 0 {
		l.DownMbps = l.Trace.MeanMbps()
	}
	if l.UpMbps == 0 {
		l.UpMbps = max(10, l.DownMbps/4)
	}
	if l.Queue == 0 {
		l.Queue = max(100*time.Millisecond, l.RTT*3/2)
	}
	if l.Ramp0 == 0 {
		l.Ramp0 = DefaultRamp0
	}
	if l.PerConnection != 0 && l.Power == "" {
		return l, fmt.Errorf("link %s: perconn needs power=", l.Name)
	}
	var err error
	for _, f := range l.fields() {
		err = cmp.Or(err, within(f.key, f.value(), f.lo, f.hi))
	}
	if err = cmp.Or(err, checkPower(l.Power)); err != nil {
		return l, fmt.Errorf("link %s: %w", l.Name, err)
	}
	return l, nil
}

// field is a number that describes a link: its key in a scenario, and its bounds there.
type field struct {
	key    string
	number *float64
	time   *time.Duration // instead of number, in units
	unit   time.Duration
	lo, hi float64
}

// fields are those of a link, in the order in which they are written.
func (l *Link) fields() []field {
	const milli = time.Millisecond
	return []field{
		{"down", &l.DownMbps, nil, 0, MinMbps, MaxMbps},
		{"up", &l.UpMbps, nil, 0, MinMbps, MaxMbps},
		{"rtt", nil, &l.RTT, milli, 0, ms(MaxRTT)},
		{"queue", nil, &l.Queue, milli, 1, ms(MaxQueue)},
		{"loss", &l.LossPercent, nil, 0, 0, 100},
		{"ramp", nil, &l.Ramp, time.Second, 0, MaxRamp.Seconds()},
		{"ramp0", &l.Ramp0, nil, 0, 0.001, 1},
		{"vary", &l.Vary, nil, 0, 0, 1},
		{"perconn", &l.PerConnection, nil, 0, 0, MaxPerConnection},
	}
}

func (f field) value() float64 {
	if f.time != nil {
		return float64(*f.time) / float64(f.unit)
	}
	return *f.number
}

func (f field) set(v float64) {
	if f.time != nil {
		*f.time = time.Duration(math.Round(v * float64(f.unit)))
		return
	}
	*f.number = v
}

// checkName accepts what every tool takes for the name of a device.
func checkName(name string) error {
	if name == "" {
		return errors.New("a link needs a name")
	}
	if name == "lo" || name == "." || name == ".." || len(name) > maxName {
		return fmt.Errorf("link %q: not a possible device name", name)
	}
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return fmt.Errorf("link %q: a device name takes letters, digits, '.', '_' and '-'", name)
		}
	}
	return nil
}

// checkPower accepts the radio models that there are, and none.
func checkPower(model string) error {
	if _, ok := energy.Lookup(model); !ok && model != "" {
		return fmt.Errorf("power=%s: the models are %s", model, strings.Join(energy.Names(), ", "))
	}
	return nil
}

func within(key string, v, lo, hi float64) error {
	if math.IsNaN(v) || v < lo || v > hi {
		return fmt.Errorf("%s=%g: must be within %g..%g", key, v, lo, hi)
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
