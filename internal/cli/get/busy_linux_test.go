package get

import (
	"testing"
	"time"
)

// TestBusy: the example of proc(5)'s columns, added up by hand.
func TestBusy(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"cpu  10 20 30 1000 500 1 2 3 4 5\ncpu0 1 2\n": 660 * time.Millisecond,
		"cpu  10 20 30 1000\n":                         600 * time.Millisecond,
		"cpu  10 x 30 1000\n":                          0,
		"cpu  10 -1 30 1000\n":                         0,
		"intr 1 2 3 4 5\n":                             0,
		"":                                             0,
	} {
		if got := busyOf([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if busy() <= 0 {
		t.Error("this system is never busy")
	}
}
