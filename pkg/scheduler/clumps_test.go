package scheduler

import (
	"math/rand/v2"
	"testing"
)

// TestBytesInClumpsAreNoFasterLink: on a busy machine a link's bytes are handed over every tenth
// or two of a second. What comes over HTTP/1.1 is counted as it is over HTTP/2.
func TestBytesInClumpsAreNoFasterLink(t *testing.T) {
	const rate = 10e6 // bytes per second
	for _, lasting := range []bool{false, true} {
		for seed := range uint64(10) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			r := newRig(t, Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Size: 1 << 40, First: 1 << 40})
			r.up(1)
			l := &r.core.links[0]
			most, clump := 0.0, Time(0)
			for came := int64(0); r.now < 12*Second; r.now += 10 * Millisecond {
				if r.now >= clump {
					came = int64(rate * r.now.Seconds())
					clump = r.now + Time(100+rnd.IntN(100))*Millisecond
				}
				r.step(Input{Kind: Progress, RTT: 20 * Millisecond, Trip: 20 * Millisecond, Bytes: came, Lasting: lasting})
				r.step(Input{Kind: Tick})
				if r.now > 2*Second {
					most = max(most, l.est.bandwidth)
				}
			}
			if most > 1.1*rate || most < 0.9*rate {
				t.Errorf("HTTP/2 %v: %.1f MB/s are taken for %.1f", lasting, rate/1e6, most/1e6)
			}
		}
	}
}
