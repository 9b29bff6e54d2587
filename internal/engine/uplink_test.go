package engine

import (
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// uplinkRun is what a link does, looked at every 40 ms.
type uplinkRun struct {
	name             string
	gathered, atOnce float64 // bytes per second
	growth           float64 // of these, in a second
	vary             bool    // they come and go by a fifth
	most             float64 // bytes per second that come when it is gathered; 0: no limit
	trip             scheduler.Time
	freed            scheduler.Time // the same while its reader rests; 0: trip
	breaks           bool           // the queue is gone at every second look
	untold           bool           // nobody knows the least round trip
	// A packet comes out of order at every so-manieth look, where that is not 0; or only
	// where it is gathered, or only once, at lossAt.
	lossEvery, lossAt int
	lossGathered      bool

	rested, tried, want bool // its reader has rested; it was gathered after that; its reader rests in the end
}

// look is what comes until the i-th look: with the rate in bytes per second.
func (r *uplinkRun) look(i int, atOnce bool) (rate float64, trip scheduler.Time, lost bool) {
	rate = r.gathered
	if atOnce {
		rate = r.atOnce
	}
	rate *= 1 + r.growth*float64(i)*0.04
	if r.vary && (i+3)/5%2 == 0 {
		rate *= 0.8
	}
	if r.most > 0 && !atOnce {
		rate = min(rate, r.most)
	}
	trip = r.trip
	if atOnce && r.freed > 0 {
		trip = r.freed
	}
	if r.breaks && i%2 == 0 {
		trip = 0
	}
	lost = i == r.lossAt || r.lossEvery > 0 && i%r.lossEvery == 0 && (!r.lossGathered || !atOnce)
	return rate, trip, lost
}

func TestUplinkThatAcknowledgementsFill(t *testing.T) {
	const ms = scheduler.Millisecond
	for _, tt := range []uplinkRun{
		{name: "it is what bounds the rate", gathered: 4e6, atOnce: 8e6, trip: 60 * ms, freed: 30 * ms, rested: true, tried: true, want: true},
		{name: "it is, a little", gathered: 4e6, atOnce: 4.8e6, trip: 60 * ms, freed: 45 * ms, rested: true, tried: true, want: true},
		{name: "more comes by chance", gathered: 4e6, atOnce: 8e6, trip: 60 * ms, rested: true, tried: true},
		{name: "the link is full", gathered: 8e6, atOnce: 8e6, trip: 60 * ms, rested: true, tried: true},
		{name: "a little less comes", gathered: 7.5e6, atOnce: 8e6, trip: 60 * ms, rested: true, tried: true},
		{name: "no queue stands", gathered: 4e6, atOnce: 8e6, trip: 21 * ms},
		{name: "no round trip is known", gathered: 4e6, atOnce: 8e6, trip: 60 * ms, untold: true},
		{name: "a queue comes and goes", gathered: 4e6, atOnce: 8e6, trip: 60 * ms, breaks: true},
		{name: "the rate comes and goes", gathered: 4e6, atOnce: 4e6, vary: true, trip: 60 * ms, rested: true, tried: true},
		{name: "packets are lost all the time", gathered: 4e6, atOnce: 4e6, trip: 60 * ms, lossEvery: 2, rested: true, tried: true},
		{name: "packets are lost when it is gathered", gathered: 8e6, atOnce: 8e6, trip: 60 * ms, lossEvery: 2, lossGathered: true, rested: true, tried: true},
		{name: "packets are lost now and then", gathered: 8e6, atOnce: 8e6, trip: 60 * ms, lossEvery: 60, rested: true, tried: true},
		{name: "a packet is lost while it is tried", gathered: 8e6, atOnce: 8e6, trip: 60 * ms, lossAt: 23, rested: true, tried: true},
		{name: "the link builds up its rate", gathered: 4e6, atOnce: 4e6, growth: 0.3, trip: 60 * ms, rested: true, tried: true},
		{name: "it does until acknowledgements bound it", gathered: 3e6, atOnce: 3e6, growth: 0.3, most: 6e6, trip: 60 * ms, freed: 30 * ms, rested: true, tried: true, want: true},
		{name: "acknowledgements are few", gathered: 1e6, atOnce: 2e6, trip: 60 * ms},
		{name: "nothing comes", trip: 60 * ms},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var (
				u             uplink
				disorder      int64
				rested, tried bool
				turns         int // to resting
				least         = 20 * ms
			)
			if tt.untold {
				least = 0
			}
			for i := 1; i < 625; i++ {
				before := u.rests()
				rate, trip, lost := tt.look(i, before)
				if lost {
					disorder++
				}
				u.bytes += int64(rate * (40 * ms).Seconds())
				u.watch(scheduler.Time(i)*40*ms, trip, least, disorder)
				rested, tried = rested || before, tried || rested && !before
				if u.rests() && !before {
					turns++
				}
			}
			if u.rests() != tt.want || rested != tt.rested || tried != tt.tried {
				t.Errorf("rests: %v, before: %v, gathered then: %v; want %v, %v, %v", u.rests(), rested, tried, tt.want, tt.rested, tt.tried)
			}
			if turns > 5 {
				t.Errorf("began to rest %d times in 25 s", turns)
			}
		})
	}
}

// What was found is looked at anew after a while, and at once when much more comes than before.
func TestUplinkIsLookedAtAnew(t *testing.T) {
	const s = scheduler.Second
	for _, tt := range []struct {
		what  string
		u     uplink
		bytes int64 // in the second that is looked at
		want  uplinkStep
	}{
		{"soon after", uplink{step: known, since: s, again: 10 * s, harmless: 4e6}, 4e6, known},
		{"a while after", uplink{step: known, since: s, again: 2 * s, harmless: 4e6}, 4e6, gathering},
		{"much more comes", uplink{step: known, since: s, again: 10 * s, harmless: 4e6}, 6e6, gathering},
		{"nothing was found", uplink{step: known, since: s, again: 10 * s}, 6e6, known},
		{"it does harm", uplink{step: bounded, since: s, again: 10 * s}, 60e6, bounded},
		{"it may do no harm any more", uplink{step: bounded, since: s, again: 2 * s}, 4e6, gathering},
	} {
		tt.u.bytes = tt.bytes
		tt.u.watch(2*s, 60*scheduler.Millisecond, 20*scheduler.Millisecond, 0)
		if tt.u.step != tt.want {
			t.Errorf("%s: step %d, want %d", tt.what, tt.u.step, tt.want)
		}
	}
}
