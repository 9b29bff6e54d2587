package engine

import (
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

func TestUplinkThatAcknowledgementsFill(t *testing.T) {
	const (
		ms    = scheduler.Millisecond
		least = 20 * ms
	)
	for _, tt := range []struct {
		name        string
		gathered    float64 // bytes per second
		atOnce      float64
		growth      float64 // of the rate, in a second
		trip        scheduler.Time
		reordered   int64 // packets out of order, each second
		want, tried bool
	}{
		{name: "it is what bounds the rate", gathered: 4e6, atOnce: 8e6, trip: 60 * ms, want: true, tried: true},
		{name: "the link is full", gathered: 8e6, atOnce: 8e6, trip: 60 * ms, tried: true},
		{name: "no queue stands", gathered: 4e6, atOnce: 8e6, trip: 21 * ms},
		{name: "packets are lost", gathered: 4e6, atOnce: 8e6, trip: 60 * ms, reordered: 100},
		{name: "the link builds up its rate", gathered: 4e6, atOnce: 4e6, growth: 0.8, trip: 60 * ms, tried: true},
		{name: "acknowledgements are few", gathered: 1e6, atOnce: 2e6, trip: 60 * ms},
		{name: "nothing comes", trip: 60 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var u uplink
			tried := false
			for now := 40 * ms; now < 3*scheduler.Second; now += 40 * ms {
				rate := tt.gathered
				if u.atOnce() {
					rate, tried = tt.atOnce, true
				}
				u.bytes += int64(rate * (1 + tt.growth*now.Seconds()) * (40 * ms).Seconds())
				u.watch(now, tt.trip, least, tt.reordered*int64(now/(10*ms))/100)
			}
			if u.atOnce() != tt.want || tried != tt.tried {
				t.Errorf("read at once: %v, tried: %v; want %v, %v", u.atOnce(), tried, tt.want, tt.tried)
			}
		})
	}
}
