package scheduler

import "testing"

// narrowed lets a link with 64 connections narrow to goal while it carries what rate says
// for so many, and gives their numbers after each step.
func narrowed(goal StreamID, trips int, rate func(StreamID) float64) (most []StreamID) {
	const trip = 300 * Millisecond
	l := &link{rtt: roundTrips{min: trip}, est: estimator{rate: 1e6, nSamples: 1}}
	s := &l.streams
	s.most = 64
	s.narrowTo(goal, l)
	at := Second
	for range trips {
		s.narrow(at, l)
		if n := len(most); n == 0 || most[n-1] != s.most {
			most = append(most, s.most)
		}
		at += trip
		l.load.received += int64(rate(s.most) * trip.Seconds())
	}
	return most
}

func TestAFullLinkNarrowsByAndBy(t *testing.T) {
	most := narrowed(24, 20, func(StreamID) float64 { return 1e6 })
	if most[0] != 64 || most[len(most)-1] != 24 {
		t.Fatalf("%v", most)
	}
	for i, n := range most[1:] {
		if was := most[i]; n >= was || was-n > was/narrowPart {
			t.Errorf("%v", most)
		}
	}
}

func TestAStepThatCostsRateIsTakenBack(t *testing.T) {
	most := narrowed(8, 40, func(n StreamID) float64 {
		if n < 40 {
			return 8e5
		}
		return 1e6
	})
	if n := len(most); most[n-1] < 40 || most[n-2] >= 40 {
		t.Errorf("%v", most)
	}
}

// Bytes that come late come in the next step.
func TestABurstIsNoReasonToGoBack(t *testing.T) {
	trip := 0
	most := narrowed(24, 60, func(StreamID) float64 {
		trip++
		switch trip % 8 {
		case 5, 6:
			return 2e5
		case 7:
			return 2.6e6
		}
		return 1e6
	})
	if most[len(most)-1] != 24 {
		t.Errorf("%v", most)
	}
}

func TestANearLinkIsNarrowAtOnce(t *testing.T) {
	l := &link{rtt: roundTrips{min: 20 * Millisecond}, est: estimator{rate: 1e6, nSamples: 1}}
	l.streams.most = 6
	if l.streams.narrowTo(2, l); l.streams.most != 2 {
		t.Errorf("%d", l.streams.most)
	}
	if l.streams.narrowTo(4, l); l.streams.most != 4 {
		t.Errorf("%d", l.streams.most)
	}
}

// Connections that were tried and did no more go as they came.
func TestATrialEndsAtOnce(t *testing.T) {
	l := &link{rtt: roundTrips{min: 300 * Millisecond}, est: estimator{rate: 1e6, nSamples: 1}}
	s := &l.streams
	s.most = 64
	if s.narrowTo(24, l); s.most != 64 {
		t.Fatalf("%d after the start", s.most)
	}
	if s.narrowTo(48, l); s.most == 24 {
		t.Errorf("%d where 48 are wanted", s.most)
	}
	s.most = 48
	if s.narrowTo(24, l); s.most != 24 {
		t.Errorf("%d where 24 are wanted", s.most)
	}
}

// A plan's goal that was given up while a link carried less for other reasons is tried
// again: HAT's 58 connections stayed 44 to the end of a job, of which 24 were wanted.
func TestAPlansGoalIsTriedAgain(t *testing.T) {
	trip := 0
	most := narrowed(24, 60, func(StreamID) float64 {
		if trip++; trip >= 3 && trip < 12 { // a busy machine, for three seconds
			return 8e5
		}
		return 1e6
	})
	if most[len(most)-1] != 24 {
		t.Errorf("%v", most)
	}
}

// Where fewer carry less, however often it is tried, most of the time is spent with those
// that are needed.
func TestAPlansGoalThatCostsRateIsRarelyTried(t *testing.T) {
	var few, all int
	narrowed(8, 200, func(n StreamID) float64 {
		all++
		if n < 40 {
			few++
			return 8e5
		}
		return 1e6
	})
	if 4*few > all {
		t.Errorf("%d of %d trips with too few", few, all)
	}
}

// A plan that is there before the link has shown a rate holds at once: what the connections that
// are to go were asked for fills the link meanwhile.
func TestAPlanOfTheStartHoldsAtOnce(t *testing.T) {
	for samples, want := range []StreamID{24, 64} {
		l := &link{rtt: roundTrips{min: 300 * Millisecond}, est: estimator{rate: 1e6, nSamples: samples}}
		l.streams.most = 64
		if l.streams.narrowTo(24, l); l.streams.most != want {
			t.Errorf("%d rates shown: %d connections, want %d", samples, l.streams.most, want)
		}
	}
}
