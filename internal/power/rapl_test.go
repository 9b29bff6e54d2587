package power

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestWrapsBetweenReadings: a counter that begins anew more than once between two
// readings loses joules unseen; so it is read in time, whatever was asked for.
func TestWrapsBetweenReadings(t *testing.T) {
	dir := unpack(t, "laptop")
	const zone = "devices/virtual/powercap/intel-rapl/intel-rapl:0/"
	const wrap, watts = int64(65_532_610_987), 280 // microjoules, of an EPYC
	write(t, dir, zone+"max_energy_range_uj", strconv.FormatInt(wrap, 10)+"\n")
	write(t, dir, zone+"energy_uj", "0\n")
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		driver := time.NewTicker(time.Second)
		over := make(chan struct{})
		go func() {
			for {
				select {
				case <-driver.C:
					spent := time.Since(begun).Microseconds() * watts
					write(t, dir, zone+"energy_uj", strconv.FormatInt(spent%wrap, 10)+"\n")
				case <-over:
					return
				}
			}
		}()
		cfg := config(RAPL, dir)
		cfg.Interval = 10 * time.Minute
		src, err := choose(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		powers, sources, _ := sampled(t, src, cfg, 20*time.Minute+time.Second/2)
		driver.Stop()
		close(over)
		if len(powers) == 0 || len(sources) == 0 {
			t.Fatalf("%+v, %+v", powers, sources)
		}
		last := powers[len(powers)-1]
		if want := 20 * 60 * watts * 1.0; last.Joules < want-watts || last.Joules > want {
			t.Errorf("%.0f J, want %.0f; every %v", last.Joules, want, sources[0].Interval)
		}
	})
}
