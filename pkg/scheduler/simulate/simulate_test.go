package simulate_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/simulate"
)

func policy(t *testing.T, name string) scheduler.Policy {
	t.Helper()
	p, err := scheduler.NewPolicy(name, 4<<20, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTwoLinks holds a download against arithmetic: 40 and 20 Mbit/s, of which 96.5 % are
// payload, carry 30 MB in 4.145 s, and two thirds of it over the first.
func TestTwoLinks(t *testing.T) {
	cfg := simulate.Config{Scenario: "link a,down=40,rtt=10\nlink b,down=20,rtt=10\n", Size: 30e6}
	res, err := simulate.Run(cfg, policy(t, "3"))
	if err != nil {
		t.Fatal(err)
	}
	least := 30e6 * 8 / (60e6 * 0.965)
	if res.Seconds < least || res.Seconds > 1.05*least || res.Efficiency > 1 || math.Abs(res.BoundSeconds/res.Seconds-res.Efficiency) > 1e-9 {
		t.Errorf("%+v, want %.3f s or little more", res, least)
	}
	if len(res.Links) != 2 || res.Links[0].Name != "a" || res.Links[0].Bytes+res.Links[1].Bytes != 30e6 ||
		math.Abs(float64(res.Links[0].Bytes)/20e6-1) > 0.03 || res.LinkDelta > 0.1 {
		t.Errorf("%+v", res)
	}
	single, err := simulate.Run(cfg, policy(t, "single"))
	if err != nil || math.Abs(single.Seconds/(1.5*res.Seconds)-1) > 0.05 {
		t.Errorf("one link of 40 Mbit/s takes %.2f s, both %.2f: %v", single.Seconds, res.Seconds, err)
	}
	again, err := simulate.Run(cfg, policy(t, "3"))
	if err != nil || fmt.Sprint(again) != fmt.Sprint(res) {
		t.Errorf("another result: %+v, %v", again, err)
	}
}

func TestWrongConfigs(t *testing.T) {
	for _, tc := range []struct {
		cfg  simulate.Config
		want string
	}{
		{simulate.Config{Scenario: "nowhere"}, `no scenario named "nowhere"`},
		{simulate.Config{Scenario: "../etc/passwd"}, "no scenario named"},
		{simulate.Config{Scenario: "link a,down=x\n"}, "line 1"},
		{simulate.Config{Scenario: "link a,down=1,trace=/etc/passwd\n"}, "trace"},
		{simulate.Config{Scenario: "high-speed", Size: -1}, "size -1"},
	} {
		if _, err := simulate.Run(tc.cfg, policy(t, "3")); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.cfg, err, tc.want)
		}
	}
	if _, err := simulate.Run(simulate.Config{Scenario: "high-speed"}, nil); err == nil {
		t.Error("it ran without a policy")
	}
	never := simulate.Config{Scenario: "link a,down=1\nat 1s a down\n", Size: 30e6}
	if _, err := simulate.Run(never, policy(t, "3")); !errors.Is(err, simulate.ErrNever) {
		t.Error(err)
	}
}

// TestNoInternalTypes: what a caller gets or gives is of this package, the scheduler's or
// the language's.
func TestNoInternalTypes(t *testing.T) {
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		if path := typ.PkgPath(); strings.Contains(path, "internal") {
			t.Errorf("%v is of %s", typ, path)
		}
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				check(typ.Field(i).Type)
			}
		case reflect.Slice, reflect.Pointer, reflect.Array:
			check(typ.Elem())
		case reflect.Func:
			for i := range typ.NumIn() {
				check(typ.In(i))
			}
			for i := range typ.NumOut() {
				check(typ.Out(i))
			}
		default:
		}
	}
	for _, f := range []any{simulate.Run, simulate.Scenarios, simulate.Text} {
		check(reflect.TypeOf(f))
	}
}
