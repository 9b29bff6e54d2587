package get

import (
	"runtime/debug"
	"testing"
)

// Garbage is collected earlier than usual, sooner where there is one file, and when GOGC
// says where that is set.
func TestGarbageIsCollectedEarlier(t *testing.T) {
	const before = 77
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for _, c := range []struct {
		environment string
		one         bool
		want        int
	}{
		{"", true, garbageOfOne},
		{"", false, garbageOfMany},
		{"200", true, before},
		{"200", false, before},
	} {
		t.Setenv("GOGC", c.environment)
		tidy(c.one)
		if got := debug.SetGCPercent(before); got != c.want {
			t.Errorf("GOGC=%q, one file %v: %d %%, want %d", c.environment, c.one, got, c.want)
		}
	}
}
