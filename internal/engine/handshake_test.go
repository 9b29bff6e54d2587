package engine

import (
	"testing"
	"time"
)

// The round trip of new connections is the least of the last three handshakes, so that
// one lost packet does not count, and what has grown does.
func TestTheLatestHandshakesCount(t *testing.T) {
	l := &Link{started: time.Now()}
	for i, s := range []struct{ took, least, late time.Duration }{
		{10, 10, 10},
		{1010, 10, 10},
		{2000, 10, 10},
		{2010, 10, 1010},
		{2020, 10, 2000},
		{20, 10, 20},
	} {
		l.RoundTrip(s.took * time.Millisecond)
		if got := time.Duration(l.late.Load()); got != s.late*time.Millisecond {
			t.Errorf("handshake %d: %v", i, got)
		}
		if got := l.sawRTT(0); got != s.least*time.Millisecond {
			t.Errorf("handshake %d: least %v", i, got)
		}
	}
	l.Renew(nil, true)
	if l.late.Load() != 0 || l.sawRTT(0) != 0 {
		t.Error("the round trips of the network before are kept")
	}
}
