package power

import (
	"context"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// counting is a source that tells how often it was read.
type counting struct {
	source
	reads int
}

func (c *counting) read(ctx context.Context, now time.Duration, out []sample) ([]sample, error) {
	c.reads++
	return c.source.read(ctx, now, out)
}

// TestSmallRange: a counter of a small range begins anew often, and is read in time,
// but no more often than what it counts makes necessary.
func TestSmallRange(t *testing.T) {
	for _, c := range []struct {
		joules float64 // its range
		watts  []float64
		most   int // readings in ten seconds
	}{
		{262143, []float64{10}, 12},
		{65, []float64{10}, 30},
		{10, []float64{10}, 120},
		{10, []float64{10, 40}, 250},
	} {
		dir := unpack(t, "laptop")
		const zone = "devices/virtual/powercap/intel-rapl/intel-rapl:0/"
		wrap := int64(c.joules * 1e6)
		write(t, dir, zone+"max_energy_range_uj", strconv.FormatInt(wrap, 10)+"\n")
		write(t, dir, zone+"energy_uj", "0\n")
		synctest.Test(t, func(t *testing.T) {
			over, done := make(chan struct{}), make(chan struct{})
			var spent float64
			go func() {
				defer close(done)
				tick := time.NewTicker(5 * time.Millisecond)
				defer tick.Stop()
				for i := 0; ; i++ {
					select {
					case <-tick.C:
						spent += c.watts[i*len(c.watts)/2000%len(c.watts)] * 0.005
						write(t, dir, zone+"energy_uj", strconv.FormatInt(int64(spent*1e6)%wrap, 10)+"\n")
					case <-over:
						return
					}
				}
			}()
			cfg := config(RAPL, dir)
			src, err := choose(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			counted := &counting{source: src}
			powers, sources, _ := sampled(t, counted, cfg, 10*time.Second)
			close(over)
			<-done
			if len(powers) == 0 || len(sources) != 1 || sources[0].Interval != time.Second {
				t.Fatalf("%d readings, %+v", len(powers), sources)
			}
			last := powers[len(powers)-1]
			t.Logf("%v J, %v W: %d readings, %.2f J, really %.2f", c.joules, c.watts, counted.reads, last.Joules, spent)
			if math.Abs(last.Joules/spent-1) > 0.01 || counted.reads > c.most {
				t.Errorf("%v J, %v W: %d readings, %.2f J, really %.2f", c.joules, c.watts, counted.reads, last.Joules, spent)
			}
		})
	}
}
