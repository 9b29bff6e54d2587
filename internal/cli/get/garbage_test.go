package get

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// Once some was collected, garbage is collected earlier than usual, sooner where there is one file,
// and when GOGC says where that is set.
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
		if got := collectsAt(); got != before {
			t.Errorf("GOGC=%q, one file %v: %d %% at first, want %d", c.environment, c.one, got, before)
		}
		runtime.GC()
		for end := time.Now().Add(30 * time.Second); collectsAt() != c.want && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if got := debug.SetGCPercent(before); got != c.want {
			t.Errorf("GOGC=%q, one file %v: %d %%, want %d", c.environment, c.one, got, c.want)
		}
	}
}

// collectsAt is how much garbage there may be at present, in percent of what is in use.
func collectsAt() int {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int(sample[0].Value.Uint64()) //nolint:gosec // a percentage
}
