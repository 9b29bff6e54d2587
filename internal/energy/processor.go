package energy

// Processor is the power of a phone's processor under a program, beyond idling.
type Processor struct {
	Awake float64 // W, of a core that works
	Wake  float64 // J, of a core that is woken from its sleep and returns to it
}

// PhoneProcessor is a mid-range core of a phone. Both constants are chosen by hand, for want of
// a measured phone: 0.7 W is such a core's power at a medium clock; 0.2 mJ is the same for the
// 0.3 ms that switched-off cores take to work again and to be switched off. They are for
// comparing programs that run on the same machine.
func PhoneProcessor() Processor { return Processor{Awake: 0.7, Wake: 0.2e-3} }

// Joules is the energy of so many seconds of processor time and so many wake-ups. It is always
// modelled.
func (p Processor) Joules(seconds float64, wakes int64) float64 {
	return p.Awake*seconds + p.Wake*float64(wakes)
}
