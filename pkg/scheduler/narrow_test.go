package scheduler

import "testing"

// narrowed lets a link with 32 connections, whose trial was in vain, narrow to one while it carries
// what rate says for so many, and gives their numbers after each step.
func narrowed(trips int, rate func(StreamID) float64) (most []StreamID) {
	const trip = 300 * Millisecond
	l := &link{rtt: roundTrips{min: trip}}
	s := &l.streams
	s.most = 32
	at := Second
	s.narrowFrom(1, 1e6, l.mark(at))
	for range trips {
		at += trip
		l.load.received += int64(rate(s.most) * trip.Seconds())
		l.est.burst.at = at
		s.narrow(at, l)
		if n := len(most); n == 0 || most[n-1] != s.most {
			most = append(most, s.most)
		}
	}
	return most
}

func TestAFullLinkNarrowsByAndBy(t *testing.T) {
	most := narrowed(40, func(StreamID) float64 { return 1e6 })
	if most[len(most)-1] != 1 {
		t.Fatalf("%v", most)
	}
	for i, n := range most[1:] {
		if was := most[i]; n >= was || was-n > max(1, was/narrowPart) {
			t.Errorf("%v", most)
		}
	}
}

func TestAStepThatCostsRateIsTakenBack(t *testing.T) {
	most := narrowed(40, func(n StreamID) float64 {
		if n < 12 {
			return 8e5
		}
		return 1e6
	})
	if n := len(most); most[n-1] < 12 || most[n-2] >= 12 {
		t.Errorf("%v", most)
	}
}

// Bytes that come late come in the next step.
func TestABurstIsNoReasonToGoBack(t *testing.T) {
	trip := 0
	most := narrowed(60, func(StreamID) float64 {
		trip++
		switch trip % 8 {
		case 5, 6:
			return 2e5
		case 7:
			return 2.6e6
		}
		return 1e6
	})
	if most[len(most)-1] != 1 {
		t.Errorf("%v", most)
	}
}
