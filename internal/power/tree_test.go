package power

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzBattery: whatever the files of a battery hold, a reading is a plausible
// one or none.
func FuzzBattery(f *testing.F) {
	f.Add("Battery", "Discharging", "-412000\n", "3950000", "", "2130000")
	f.Add("Battery", "Unknown", "385", "4012", "0", "-1")
	f.Add("BMS", "", "99999999", "20000", "-9223372036854775807", "x")
	dir := f.TempDir()
	at := filepath.Join(dir, "class", "power_supply", "battery")
	if err := os.MkdirAll(at, 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind, status, current, voltage, power, charge string) {
		for name, text := range map[string]string{
			"type": kind, "status": status, "current_now": current, "voltage_now": voltage, "power_now": power, "charge_counter": charge,
		} {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		src, err := choose(context.Background(), config(Battery, dir))
		if err != nil {
			return
		}
		defer src.close()
		var samples []sample
		for i := range 7 {
			samples, _ = src.read(context.Background(), time.Duration(i)*time.Second, samples)
		}
		for _, s := range src.flush(samples) {
			if !(s.watts >= 0 && s.watts <= maxWatts) || s.counter {
				t.Errorf("%+v", s)
			}
		}
	})
}

// BenchmarkReading is what a reading costs: a run of 15 s takes 16.
func BenchmarkReading(b *testing.B) {
	for _, c := range []struct{ tree, source string }{
		{"galaxy-s7", Battery}, {"laptop", Battery}, {"laptop", RAPL}, {"jetson", HWMon}, {"pixel-odpm", ODPM},
	} {
		b.Run(c.tree+" "+c.source, func(b *testing.B) {
			src, err := choose(context.Background(), config(c.source, unpack(b, c.tree)))
			if err != nil {
				b.Fatal(err)
			}
			defer src.close()
			b.ReportAllocs()
			var samples []sample
			for i := 0; b.Loop(); i++ {
				if samples, err = src.read(context.Background(), time.Duration(i)*time.Second, samples[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
