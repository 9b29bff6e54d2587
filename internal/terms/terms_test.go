package terms

import (
	"math"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/energy"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		name   string
		costly bool
		usual  float64 // Mbit/s
	}{
		{"wifi", false, 40},
		{"wifi-s7-mean", false, 40},
		{"lte", true, 30},
		{"lte-2021", true, 30},
		{"nr", true, 100},
		{"nr-mmwave", true, 100},
		{"3g", true, 3},
		{"ethernet", false, 100},
	} {
		radio, ok := energy.Lookup(c.name)
		if !ok {
			t.Fatalf("no model %s", c.name)
		}
		got := Of(radio)
		if got.Costly != c.costly || got.Usual != c.usual*1e6/8 {
			t.Errorf("%s: %+v", c.name, got)
		}
		if err := got.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		// What a Machine charges for waking is what the scheduler reckons with.
		if fixed := (got.Radio.PromotionMJ + got.Radio.TailMJ) / 1e3; math.Abs(fixed-radio.FixedJoules()) > 1e-9 {
			t.Errorf("%s: %.6f J to wake it, the radio says %.6f", c.name, fixed, radio.FixedJoules())
		}
	}
}

func TestOtherRadios(t *testing.T) {
	if got := Of(energy.Radio{}); got.Costly || got.Usual != 0 || got.Radio.ActiveMW != 0 {
		t.Errorf("no radio: %+v", got)
	}
	if !Of(energy.Radio{Name: "satellite", Tail: 500, TailTime: 10 * time.Second}).Costly {
		t.Error("a radio with a tail of 5 J is not costly")
	}
	if Of(energy.Radio{Name: "bluetooth", Tail: 50, TailTime: time.Second}).Costly {
		t.Error("a radio with a tail of 0.05 J is costly")
	}
}

// What a file has under another name is of the kind of what it is like.
func TestKindsOfFiles(t *testing.T) {
	lte := Of(energy.Radio{Name: "rmnet0", Like: "lte-2021"})
	if !lte.Costly || lte.Usual != 30*mbit {
		t.Errorf("like lte-2021: %+v", lte)
	}
	if nr := Of(energy.Radio{Name: "nr", Like: "lte"}); nr.Usual != 100*mbit {
		t.Errorf("nr like lte: %+v", nr)
	}
}

// The slope holds per Mbit of payload: what carries it, and its
// acknowledgements, cost too.
func TestSlope(t *testing.T) {
	got := Of(energy.Radio{Name: "x", Down: 96.5, Up: 0}).Radio.MWPerMbps
	if math.Abs(got-100) > 1e-9 {
		t.Errorf("%v mW per Mbit/s of payload, want 100", got)
	}
	if up := Of(energy.Radio{Name: "x", Up: 965}).Radio.MWPerMbps; math.Abs(up-1000*52.0/3000) > 1e-9 {
		t.Errorf("%v mW per Mbit/s of payload for acknowledgements", up)
	}
}
