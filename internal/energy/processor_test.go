package energy

import "testing"

func TestProcessorJoules(t *testing.T) {
	near(t, "a second of work and 1,000 wake-ups", Processor{Awake: 2, Wake: 3e-3}.Joules(1, 1000), 5)
	near(t, "nothing", PhoneProcessor().Joules(0, 0), 0)
}
