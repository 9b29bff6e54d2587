package energy_test

import (
	"fmt"
	"time"

	"github.com/mlget/mlget/internal/energy"
)

// A link of 40 Mbit/s over LTE brings 50 MB, watched once a second. Then its
// owner waits for the end of the tail.
func ExampleMachine() {
	radio, _ := energy.Lookup("lte")
	m := energy.NewMachine(radio, 0)
	second := int64(time.Second)
	for now := second; now <= 10*second; now += second {
		m.Step(now, 5_000_000, 100_000, 1)
	}
	download := m.Energy()
	m.Step(m.IdleAt(), 0, 0, 0)
	tail := m.Energy().Sub(download)
	fmt.Printf("download %.2f J, tail %.2f J; waking up alone costs %.2f J\n",
		download.Total(), tail.Total(), radio.FixedJoules())
	// Output: download 37.16 J, tail 12.29 J; waking up alone costs 12.37 J
}

// A sampler read the power once a second: three seconds of rest, five of
// downloading, two of tail, and rest again.
func ExampleSummarise() {
	var samples []energy.Sample
	for second, watts := range []float64{0.7, 0.7, 0.7, 2.7, 2.7, 2.7, 2.7, 2.7, 2.7, 1.5, 1.5, 0.7, 0.7} {
		samples = append(samples, energy.Sample{At: int64(second) * int64(time.Second), Watts: watts})
	}
	run := energy.Run{Start: int64(3 * time.Second), End: int64(8 * time.Second), Bytes: 25_000_000}
	s, ok := energy.Summarise(energy.Series{Samples: samples}, run)
	fmt.Println(ok, s.BaseKnown)
	fmt.Printf("base %.1f W, peak %.1f W\n", s.BaseWatts, s.PeakWatts)
	fmt.Printf("%.1f J, of which %.1f J for the download, and %.1f J of tail\n", s.TotalJoules, s.DynamicJoules, s.Tail.Joules)
	fmt.Printf("%.0f J per 100 MB, %.0f Mbit/s per J\n", s.JoulesPer100MB, s.MbpsPerJoule)
	// Output:
	// true true
	// base 0.7 W, peak 2.7 W
	// 13.5 J, of which 10.0 J for the download, and 2.0 J of tail
	// 40 J per 100 MB, 4 Mbit/s per J
}
