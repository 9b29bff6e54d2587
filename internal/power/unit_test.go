package power

import (
	"errors"
	"testing"
	"time"
)

func TestParseUnit(t *testing.T) {
	for text, want := range map[string]Unit{"auto": UnitAuto, "uA": MicroAmps, "µA": MicroAmps, "mA": MilliAmps} {
		if u, err := ParseUnit(text); err != nil || u != want {
			t.Errorf("%q is %q, %v", text, u, err)
		}
	}
	for _, text := range []string{"", "A", "ua", "microamps"} {
		if u, err := ParseUnit(text); err == nil {
			t.Errorf("%q is %q", text, u)
		}
	}
}

func TestUnitIsDetected(t *testing.T) {
	for _, c := range []struct {
		name     string
		forced   Unit
		currents []int64 // one a second
		charges  []int64 // nil: unknown
		after    int     // readings until it is decided; 0: only at the end
		want     Unit
		doubt    bool // at the last reading
	}{
		{"microamperes", UnitAuto, []int64{412_000}, nil, 1, MicroAmps, false},
		{"a phone that rests at first", UnitAuto, []int64{15_000, 15_500, 90_000}, nil, 3, MicroAmps, false},
		{"milliamperes", UnitAuto, []int64{385, 1200, 800, 900, 4000}, nil, 5, MilliAmps, false},
		// 4 to 12 A would empty a phone at rest within an hour; 4 to 12 mA are 15 to 46 mW.
		{"a device of 4 to 12 mA", UnitAuto, []int64{4000, 4100, 12_000, 8000, 4000}, nil, 5, MicroAmps, false},
		{"neither is plausible", UnitAuto, []int64{900, 900, 19_999, 900, 900}, nil, 5, MilliAmps, true},
		{"milliamperes, and a short run", UnitAuto, []int64{385, 1200}, nil, 0, MilliAmps, false},
		{"the flag", MilliAmps, []int64{412_000}, nil, 1, MilliAmps, false},
		{"the other flag", MicroAmps, []int64{385, 385, 385, 385, 385, 385}, nil, 1, MicroAmps, false},
		{"wrong about it", UnitAuto, []int64{900, 900, 900, 900, 900, 25_000}, nil, 5, MilliAmps, true},
		// 900 mA draw 250 µAh a second.
		{
			"the charge settles it early", UnitAuto,
			[]int64{900, 900, 900, 900},
			[]int64{2_000_000, 1_999_750, 1_999_500, 1_999_250},
			4, MilliAmps, false,
		},
		// 18,000 µA draw 5 µAh a second.
		{
			"the charge knows better", UnitAuto,
			[]int64{18_000, 18_000, 18_000, 18_000},
			[]int64{2_000_000, 1_999_995, 1_999_990, 1_999_985},
			4, MicroAmps, false,
		},
		{
			"the charge contradicts", UnitAuto,
			[]int64{25_000, 25_000, 25_000, 25_000},
			[]int64{2_000_000, 1_993_000, 1_986_000, 1_979_000},
			1, MicroAmps, true,
		},
		{
			"a charge that stands still says nothing", UnitAuto,
			[]int64{900, 900, 900, 900, 900},
			[]int64{2_000_000, 2_000_000, 2_000_000, 2_000_000, 2_000_000},
			5, MilliAmps, false,
		},
		{
			"a charge that makes no sense says nothing", UnitAuto,
			[]int64{900, 900, 900, 900, 900},
			[]int64{2_000_000, 1_000_000, 500_000, 250_000, 125_000},
			5, MilliAmps, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newUnitFinder(c.forced, 0)
			var err error
			for i, current := range c.currents {
				charge := int64(0)
				if c.charges != nil {
					charge = c.charges[i]
				}
				err = f.add(time.Duration(i)*time.Second, current, 3.85, charge)
				if have, want := f.decided != "", c.after > 0 && i+1 >= c.after; have != want && c.forced == UnitAuto {
					t.Errorf("after %d readings: decided %v", i+1, have)
				}
			}
			_ = f.decide()
			if f.decided != c.want {
				t.Errorf("it is %s", f.decided)
			}
			if errors.Is(err, errUnit) != c.doubt {
				t.Errorf("doubt: %v", err)
			}
		})
	}
}

// TestUnitByCapacity: the same numbers are the one unit for a small battery, and the
// other for a large one.
func TestUnitByCapacity(t *testing.T) {
	for _, c := range []struct {
		capacity float64 // Ah
		currents []int64
		want     Unit
		sure     bool
	}{
		{3, []int64{3000, 5000}, MicroAmps, true},     // an hour at rest, or 12 mW
		{0.5, []int64{300, 600}, MilliAmps, false},    // empty within two hours, or 1 mW: neither
		{10, []int64{3000, 15_000}, MilliAmps, false}, // a large tablet at work, or one that draws 12 mW
		{20, []int64{900, 15_000}, MilliAmps, true},
	} {
		f := newUnitFinder(UnitAuto, c.capacity)
		for i, current := range c.currents {
			_ = f.add(time.Duration(i)*time.Second, current, 4, 0)
		}
		if unit, sure := f.likely(); unit != c.want || sure != c.sure {
			t.Errorf("%v Ah, %v: %s, %v; want %s, %v", c.capacity, c.currents, unit, sure, c.want, c.sure)
		}
	}
}
