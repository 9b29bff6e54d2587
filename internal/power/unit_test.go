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

func TestUnitIsFoundOut(t *testing.T) {
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
		{"milliamperes", UnitAuto, []int64{385, 1200, 800, 900, 19_999}, nil, 5, MilliAmps, false},
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
			f := newUnitFinder(c.forced)
			var err error
			for i, current := range c.currents {
				charge := int64(0)
				if c.charges != nil {
					charge = c.charges[i]
				}
				err = f.add(time.Duration(i)*time.Second, current, charge)
				if have, want := f.decided != "", c.after > 0 && i+1 >= c.after; have != want && c.forced == UnitAuto {
					t.Errorf("after %d readings: decided %v", i+1, have)
				}
			}
			f.decide()
			if f.decided != c.want {
				t.Errorf("it is %s", f.decided)
			}
			if errors.Is(err, errUnit) != c.doubt {
				t.Errorf("doubt: %v", err)
			}
		})
	}
}
