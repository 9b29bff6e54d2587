package power

import "time"

// sensor is one of several parts of a device whose powers add up: an energy
// counter in microjoules, a gauge in microwatts, or gauges of millivolts and of
// milliamperes. These are the units of powercap and hwmon.
type sensor struct {
	folder        folder
	label         string
	energy        string // the counter's file
	power         string // where that is empty, the gauge's
	voltage, amps string // where that is empty too, these two
	counter       counter
	watts         float64
	pace          pace // of a gauge
}

// read takes a reading of the sensor.
func (s *sensor) read(now time.Duration) error {
	switch {
	case s.energy != "":
		n, err := s.folder.number(s.energy)
		if err == nil {
			err = s.counter.add(now, n)
		}
		return err
	case s.power != "":
		n, err := s.folder.number(s.power)
		s.watts = float64(n) / 1e6
		if err == nil {
			s.pace.add(now, n)
		}
		return err
	}
	mv, err := s.folder.number(s.voltage)
	if err != nil {
		return err
	}
	ma, err := s.folder.number(s.amps)
	s.watts = float64(mv) * float64(ma) / 1e6
	if err == nil {
		s.pace.add(now, ma)
	}
	return err
}

// sensors are parts that add up.
type sensors []*sensor

// read takes a reading of all. Without one of them there is no sum: a counter's
// would be too low now and too high later.
func (ss sensors) read(now time.Duration, out []sample) ([]sample, error) {
	sum := sample{at: now, counter: ss[0].energy != ""}
	for _, s := range ss {
		if err := s.read(now); err != nil {
			return out, err
		}
		sum.watts += s.watts
		sum.refresh = max(sum.refresh, s.pace.refresh())
		sum.joules += float64(s.counter.sum) / 1e6
	}
	return append(out, sum), nil
}

func (ss sensors) renew() {
	for _, s := range ss {
		s.folder.renew()
	}
}

func (ss sensors) close() {
	for _, s := range ss {
		s.folder.close()
	}
}
