package scenario

// State is what the events so far have left of a link. The zero value is a link
// that is there.
type State struct {
	silent bool // after Down
	bare   bool // without carrier
	gone   bool // without a device
}

// Apply takes in an event of the link.
func (s *State) Apply(k Kind) {
	switch k {
	case Down:
		s.silent = true
	case Up:
		s.silent = false
	case CarrierOff:
		s.bare = true
	case CarrierOn:
		s.bare = false
	case Gone:
		s.gone, s.bare = true, false // a device that is made anew has a carrier
	case Back:
		s.gone = false
	case Rate, Loss, RTT: // it is there as before
	}
}

// Carries says whether packets pass.
func (s State) Carries() bool { return !s.silent && !s.bare && !s.gone }

// Gone says whether there is no device.
func (s State) Gone() bool { return s.gone }
