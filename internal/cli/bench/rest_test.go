package bench

import (
	"testing"
	"time"
)

// TestRestBetweenRuns: no base is measured before the longest tail is over, unless the user
// sets a shorter pause, which is warned of.
func TestRestBetweenRuns(t *testing.T) {
	const s = time.Second
	lte, wifi := radioTail{"rmnet0", "lte", 11576 * time.Millisecond}, radioTail{"wlan0", "wifi", 238 * time.Millisecond}
	for _, c := range []struct {
		name          string
		tail          radioTail
		watch, pause  string // as the flags say it; empty: not at all
		wantT, wantP  time.Duration
		least         time.Duration
		isWarnedAbout bool
	}{
		{"LTE", lte, "", "", 15 * s, 5 * s, 5 * s, false},
		{"Wi-Fi", wifi, "", "", 4 * s, 5 * s, 5 * s, false},
		{"wires", radioTail{}, "", "", 3 * s, 5 * s, 5 * s, false},
		{"a short tail", lte, "2s", "", 2 * s, 11 * s, 5 * s, false},
		{"auto is what nobody says", lte, "2s", "auto", 2 * s, 11 * s, 5 * s, false},
		{"a short pause", lte, "", "0", 15 * s, 0, 5 * s, false},
		{"both short", lte, "2s", "2s", 2 * s, 2 * s, 5 * s, true},
		{"both short, and a radio that sleeps at once", wifi, "2s", "2s", 2 * s, 2 * s, 5 * s, false},
	} {
		var watch, pause restFlag
		for flag, text := range map[*restFlag]string{&watch: c.watch, &pause: c.pause} {
			if text != "" {
				if err := flag.Set(text); err != nil {
					t.Fatal(err)
				}
			}
		}
		err := c.tail.settle(&watch, &pause, c.least)
		if watch.d != c.wantT || pause.d != c.wantP || (err != nil) != c.isWarnedAbout {
			t.Errorf("%s: tail %v, pause %v, %v", c.name, watch.d, pause.d, err)
		}
	}
	var pause restFlag
	if err := lte.settle(nil, &pause, 2*s); err != nil || pause.d != 13*s {
		t.Errorf("without a tail it pauses for %v, %v", pause.d, err)
	}
	if err := pause.Set("soon"); err == nil {
		t.Error("a time that is none")
	}
}
