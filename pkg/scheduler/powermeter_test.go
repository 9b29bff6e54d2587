package scheduler

import (
	"slices"
	"testing"
)

// draws is a device whose links carry what they can, and draw in truth what radios says,
// in mW; a gauge tells it five times a second.
type draws struct {
	rig
	rates  [2]float64 // bytes per second
	radios [2]Radio
	gauge  bool
	worked [2]Time // for how long each has had work
}

// run lets the links carry for a while, or until the given one has work.
func (d *draws) run(lasts Time, until LinkID) {
	const tick = 10 * Millisecond
	energy := 0.0 // mJ since the last reading
	for end := d.now + lasts; d.now < end; {
		d.now += tick
		for id := range LinkID(2) {
			fresh, at := int64(d.rates[id]*tick.Seconds()), d.now
			if d.core.links[id].load.requests == 0 {
				continue
			}
			d.worked[id] += tick
			energy += tick.Seconds() * (d.radios[id].ActiveMW + d.radios[id].MWPerMbps*d.rates[id]*8/1e6)
			for fresh > 0 {
				i := slices.IndexFunc(d.core.flight.chunks, func(ch chunk) bool { return ch.link == id })
				if i < 0 {
					break
				}
				ch := d.core.flight.chunks[i]
				n := min(fresh, ch.left())
				fresh -= n
				kind := Progress
				if n == ch.left() {
					kind = Finished
				}
				d.core.Step(at, Input{Kind: kind, Link: id, Chunk: ch.id, Bytes: ch.got + n, RTT: 20 * Millisecond}, nil)
			}
		}
		if d.gauge && d.now%(200*Millisecond) == 0 {
			d.step(Input{Kind: Power, Watts: energy / 200, Wait: 200 * Millisecond})
			energy = 0
		}
		d.step(Input{Kind: Tick})
		if until >= 0 && d.core.links[until].load.requests > 0 {
			return
		}
	}
}

// twoRadios are two links of 20 Mbit/s for a file of 1 GB, told to draw 600 and 900 mW.
func twoRadios(t *testing.T) *draws {
	t.Helper()
	told := [2]Radio{
		{ActiveMW: 600, TailMJ: 60, TailTime: 240 * Millisecond},
		{ActiveMW: 900, TailMJ: 900, TailTime: 2 * Second},
	}
	d := &draws{rig: *newRig(t, minEnergyConfig(1e9)), rates: [2]float64{2.5e6, 2.5e6}, radios: told, gauge: true}
	for id := range LinkID(2) {
		d.step(Input{Kind: LinkUp, Link: id, Bandwidth: 2.5e6, Terms: Terms{Radio: told[id]}})
	}
	d.step(Input{Kind: Tick})
	return d
}

// Thesis, 9.3: a working link whose model is wrong by a factor of two is found out, and
// left for the other one, by what the battery shows. Without a gauge nobody can know.
func TestMinEnergyLeavesALinkThatDrawsTwiceItsModel(t *testing.T) {
	d := twoRadios(t)
	d.radios[0].ActiveMW *= 2
	if d.run(20*Second, 1); d.core.links[1].load.requests == 0 {
		t.Fatalf("the link that draws 1.2 W still works after 20 s, and not that of 0.9 W; its scale is %.2f", d.core.links[0].scale.factor())
	}
	before := d.worked[0]
	if d.run(20*Second, -1); d.worked[0] > before+Second {
		t.Errorf("it worked for %.1f s after that", (d.worked[0] - before).Seconds())
	}
	blind := twoRadios(t)
	blind.radios[0].ActiveMW *= 2
	blind.gauge = false
	if blind.run(20*Second, 1); blind.worked[1] > 0 {
		t.Error("it is left without a gauge")
	}
}

// A model that says too much is corrected as well: the other link stays asleep.
func TestAModelIsScaledBothWays(t *testing.T) {
	for _, wrong := range []float64{0.5, 0.8, 1, 1.3} {
		d := twoRadios(t)
		d.radios[0].ActiveMW *= wrong
		d.run(20*Second, -1)
		if f := d.core.links[0].scale.factor(); f < 0.98*wrong || f > 1.02*wrong || d.worked[1] > 0 {
			t.Errorf("a model that is wrong by %g is scaled by %g; the other link worked for %.1f s", wrong, f, d.worked[1].Seconds())
		}
	}
}

// What is beyond belief is not believed: a factor of four is the most.
func TestAScaleIsBounded(t *testing.T) {
	for wrong, want := range map[float64]float64{100: mostScale, 0.001: leastScale} {
		d := twoRadios(t)
		d.radios[0].ActiveMW *= wrong
		d.run(5*Second, 1)
		if f := d.core.links[0].scale.factor(); f != want {
			t.Errorf("a model that is wrong by %g is scaled by %g, want %g", wrong, f, want)
		}
	}
}

// With two links at work, one gauge cannot tell them apart: nothing is learnt.
func TestNothingIsLearntOfTwoLinksAtWork(t *testing.T) {
	cfg := minEnergyConfig(1e9)
	cfg.Deadline = 5 * Second // too near for a choice: both work
	d := &draws{rig: *newRig(t, cfg), rates: [2]float64{2.5e6, 2.5e6}, gauge: true}
	for id := range LinkID(2) {
		d.radios[id] = Radio{ActiveMW: 5000}
		d.step(Input{Kind: LinkUp, Link: id, Bandwidth: 2.5e6, Terms: Terms{Radio: Radio{ActiveMW: 600}}})
	}
	d.step(Input{Kind: Tick})
	d.run(10*Second, -1)
	if d.worked[0] < 9*Second || d.worked[1] < 9*Second {
		t.Fatalf("they worked for %v s", d.worked)
	}
	for id := range d.core.links {
		if s := d.core.links[id].scale; s.seconds > 0 {
			t.Errorf("link %d: %+v", id, s)
		}
	}
}
