package power

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// TestTrees: what auto takes from each tree, and what every source says of it.
func TestTrees(t *testing.T) {
	for _, c := range []struct {
		tree   string
		auto   string // empty: nothing
		detail string
		watts  float64           // of the first reading, once the unit is known
		why    map[string]string // what else there is not
	}{
		{"galaxy-s7", Battery, "battery: current_now x voltage_now", 0.412 * 3.95, map[string]string{RAPL: "none found", HWMon: "none found", ODPM: "none found"}},
		{"samsung-ma", Battery, "battery: current_now x voltage_now", 0.385 * 4, nil},
		{"pixel-odpm", ODPM, "energy counters of 5 power rails", 0, map[string]string{Battery: ""}},
		{"laptop", Battery, "BAT0: power_now", 8.231, map[string]string{RAPL: "", HWMon: "only sensors of a part"}},
		{"two-batteries", Battery, "BAT0 + BAT1 + BAT3: power_now and current_now x voltage_now", 11.5, nil},
		{"jetson", HWMon, "sensors VDD_IN", 5.2, map[string]string{Battery: "none found"}},
		{"board", HWMon, "sensors ina226 1, ina3221x 1, ina228 1", 2.25, nil},
		{"orin", HWMon, "sensors VDD_GPU_SOC, VIN_SYS_5V0", 15, nil},
		{"regulators", HWMon, "sensors vin", 6, nil},
		{"psu", HWMon, "sensors pin, pin", 200, nil},
		{"router", "", "", 0, map[string]string{HWMon: "none found"}},
		{"server", HWMon, "sensors Esocket0, Esocket1", 0, nil},
		{"desktop", "", "", 0, map[string]string{HWMon: "only sensors of a part", Battery: "none found", RAPL: "none found"}},
		{"garbage", "", "", 0, map[string]string{
			Battery: "current_now: not a number", RAPL: "not a number", HWMon: "not a number", ODPM: "no power rail found",
		}},
	} {
		t.Run(c.tree, func(t *testing.T) {
			dir := unpack(t, c.tree)
			src, err := choose(context.Background(), config(Auto, dir))
			switch {
			case err != nil && c.auto != "":
				t.Fatal(err)
			case err == nil && c.auto == "":
				t.Fatalf("%+v was chosen", src.describe())
			case err == nil:
				defer src.close()
				if d := src.describe(); d.name != c.auto || d.detail != c.detail {
					t.Errorf("%q, %q was chosen, want %q, %q", d.name, d.detail, c.auto, c.detail)
				}
				samples, err := src.read(context.Background(), time.Second, nil)
				if err != nil {
					t.Fatal(err)
				}
				samples = src.flush(samples)
				if len(samples) != 1 || samples[0].at != time.Second || samples[0].external || math.Abs(samples[0].watts-c.watts) > 1e-9 {
					t.Errorf("%+v, want %v W", samples, c.watts)
				}
			}
			for name, why := range c.why {
				other, err := choose(context.Background(), config(name, dir))
				switch {
				case err == nil && why != "":
					t.Errorf("%s: %+v", name, other.describe())
				case err == nil:
				case why == "" || !strings.Contains(err.Error(), why):
					t.Errorf("%s: %v, want %q", name, err, why)
				}
				if err == nil {
					other.close()
				}
			}
		})
	}
}

// TestManyCores: the sockets' counters come after those of all cores.
func TestManyCores(t *testing.T) {
	dir := unpack(t, "server")
	for channel := 1; channel <= 130; channel++ {
		at, label := fmt.Sprintf("class/hwmon/hwmon0/energy%d_", channel), fmt.Sprintf("Ecore%03d\n", channel-1)
		if channel > 128 {
			label = fmt.Sprintf("Esocket%d\n", channel-129)
		}
		write(t, dir, at+"label", label)
		write(t, dir, at+"input", "5000\n")
	}
	if src := open(t, HWMon, dir); src.describe().detail != "sensors Esocket0, Esocket1" {
		t.Errorf("%+v", src.describe())
	}
}

// TestCountersDoNotCountTwice: a package's parts, the platform, and the second
// interface to the same counter add nothing.
func TestCountersDoNotCountTwice(t *testing.T) {
	for _, c := range []struct {
		tree, source string
		changes      map[string]string
		joules       float64
	}{
		{"laptop", RAPL, map[string]string{
			"devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj":                "1671150\n", // it wraps: 328850 + 1671150
			"devices/virtual/powercap/intel-rapl/intel-rapl:0/intel-rapl:0:0/energy_uj": "2000000\n",
			"devices/virtual/powercap/intel-rapl/intel-rapl:1/energy_uj":                "5000000\n",
			"devices/virtual/powercap/intel-rapl-mmio/intel-rapl-mmio:0/energy_uj":      "1671150\n",
		}, 2},
		{"pixel-odpm", ODPM, map[string]string{
			"devices/spmi/iio:device0/energy_value": "t=351490\nCH0(T=351490)[S10M_VDD_TPU], 3161249\nCH1(T=351490)[VSYS_PWR_MODEM], 49348513\nCH2(T=351490)[VSYS_PWR_RFFE], 9739569\n",
			"devices/spmi/iio:device1/energy_value": "t=351493\nCH0(T=351493)[VSYS_PWR_WLAN_BT], 73111022\nCH5(T=351493)[ANOTHER_RAIL], 999110221\n",
		}, 1.25},
		{"server", HWMon, map[string]string{
			"class/hwmon/hwmon0/energy1_input": "1000500\n",
			"class/hwmon/hwmon0/energy2_input": "8000000\n",
			"class/hwmon/hwmon0/energy3_input": "9500000\n",
		}, 1.5},
		{"monitor", HWMon, map[string]string{
			"class/hwmon/hwmon0/energy1_input": "7000000\n",
			"class/hwmon/hwmon0/energy2_input": "6000000\n",
		}, 2},
	} {
		t.Run(c.tree, func(t *testing.T) {
			dir := unpack(t, c.tree)
			src := open(t, c.source, dir)
			first, err := src.read(context.Background(), time.Second, nil)
			if err != nil || len(first) != 1 || !first[0].counter || first[0].joules != 0 {
				t.Fatalf("%+v, %v", first, err)
			}
			for name, text := range c.changes {
				write(t, dir, name, text)
			}
			second, err := src.read(context.Background(), 2*time.Second, nil)
			if err != nil || len(second) != 1 || math.Abs(second[0].joules-c.joules) > 1e-9 {
				t.Errorf("%+v, %v, want %v J", second, err, c.joules)
			}
		})
	}
}

// TestHandover: a laptop that empties one battery after the other is measured all the
// time. Neither tells anything but its power, which is 0 while it rests.
func TestHandover(t *testing.T) {
	const supplies = "class/power_supply/"
	dir := unpack(t, "handover")
	src := open(t, Battery, dir)
	for i, want := range []struct {
		first, second string // what they tell
		watts         float64
	}{
		{"10000000\n", "0\n", 10},
		{"4000000\n", "5000000\n", 9},
		{"0\n", "9500000\n", 9.5},
	} {
		write(t, dir, supplies+"BAT0/power_now", want.first)
		write(t, dir, supplies+"BAT1/power_now", want.second)
		samples, err := src.read(context.Background(), time.Duration(i)*time.Second, nil)
		if err != nil || len(samples) != 1 || samples[0].watts != want.watts || samples[0].external {
			t.Errorf("%+v: %+v, %v", want, samples, err)
		}
	}
	write(t, dir, supplies+"BAT1/power_now", "0\n")
	if samples, err := src.read(context.Background(), time.Minute, nil); !errors.Is(err, errNothing) || len(samples) > 0 {
		t.Errorf("both rest: %+v, %v", samples, err)
	}
	// None that can be read is not one that rests.
	if src, err := choose(context.Background(), config(Battery, dir)); !errors.Is(err, errResting) {
		t.Errorf("both rest from the beginning: %v, %v", src, err)
	}
}

// TestBatteries: direction, missing files, and names.
func TestBatteries(t *testing.T) {
	const battery = "devices/battery.48/power_supply/battery/"
	for _, c := range []struct {
		name     string
		changes  map[string]string
		watts    float64
		external bool
		problem  string // of the reading
	}{
		{"as it is", nil, 1.6274, false, ""},
		{"the sign says nothing", map[string]string{battery + "current_now": "412000\n"}, 1.6274, false, ""},
		{"millivolts", map[string]string{battery + "voltage_now": "3950\n"}, 1.6274, false, ""},
		{"zero byte at the end", map[string]string{battery + "current_now": "412000\x00"}, 1.6274, false, ""},
		{"power_now is better", map[string]string{battery + "power_now": "-1700000\n"}, 1.7, false, ""},
		{"power_now that is always 0", map[string]string{battery + "power_now": "0\n"}, 1.6274, false, ""},
		{"power_now that is garbage", map[string]string{battery + "power_now": "12 mW\n"}, 1.6274, false, ""},
		{"charging", map[string]string{battery + "status": "Charging\n"}, 1.6274, true, ""},
		{"full", map[string]string{battery + "status": "Full\n", battery + "current_now": "0\n"}, 0, true, ""},
		{"not charging", map[string]string{battery + "status": "Not charging\n"}, 1.6274, true, ""},
		{"unknown, no charger online", map[string]string{battery + "status": "Unknown\n"}, 1.6274, false, ""},
		{"unknown, a charger online", map[string]string{battery + "status": "Unknown\n", "devices/battery.48/power_supply/usb/online": "1\n"}, 1.6274, true, ""},
		{"no current while it is discharged", map[string]string{battery + "current_now": "0\n"}, 0, false, "0 while it runs on battery"},
		{"a current beyond belief", map[string]string{battery + "current_now": "-9000000000\n"}, 0, false, "implausible"},
		{"a voltage of neither unit", map[string]string{battery + "voltage_now": "42\n"}, 0, false, "not a voltage"},
		{"empty", map[string]string{battery + "current_now": ""}, 0, false, "not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := unpack(t, "galaxy-s7")
			for name := range c.changes {
				if strings.HasSuffix(name, "power_now") {
					write(t, dir, name, "1\n") // it is there from the beginning, or it is not looked for
				}
			}
			src := open(t, Battery, dir)
			for name, text := range c.changes {
				write(t, dir, name, text)
			}
			samples, err := src.read(context.Background(), time.Second, nil)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) || len(samples) > 0 {
					t.Errorf("%v, %+v, want %q", err, samples, c.problem)
				}
				return
			}
			samples = src.flush(samples)
			if err != nil || len(samples) != 1 || math.Abs(samples[0].watts-c.watts) > 1e-9 || samples[0].external != c.external {
				t.Errorf("%+v, %v; want %v W, external %v", samples, err, c.watts, c.external)
			}
		})
	}
}
