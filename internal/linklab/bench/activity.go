package bench

import (
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// sampleEvery is the resolution of a Link Δ.
const sampleEvery = 5 * time.Millisecond

// dataBytes is what a link delivers at least in one sample if it carries data:
// less are acknowledgements and the ends of connections.
const dataBytes = 1000

// activity is when each link has carried data last, from samples of its
// counter.
type activity struct {
	bytes []int64         // IP packets, server to client, at the last sample
	last  []time.Duration // of data; 0: never
}

func newActivity(links int) activity {
	return activity{bytes: make([]int64, links), last: make([]time.Duration, links)}
}

// observe takes a sample: how much each link had carried at a time.
func (a activity) observe(at time.Duration, bytes []int64) {
	for i, b := range bytes {
		if b-a.bytes[i] >= dataBytes {
			a.last[i] = at
		}
		a.bytes[i] = b
	}
}

// delta is the Link Δ in s over the links that carried data and are there in
// the end; nil if these are fewer than two.
func (a activity) delta(there []bool) *float64 {
	var first, last time.Duration
	n := 0
	for i, t := range a.last {
		if t == 0 || !there[i] {
			continue
		}
		if n == 0 || t < first {
			first = t
		}
		last = max(last, t)
		n++
	}
	if n < 2 {
		return nil
	}
	d := (last - first).Seconds()
	return &d
}

// thereAt says which links are there at a time of the scenario.
func thereAt(s scenario.Scenario, t time.Duration) []bool {
	there := make([]bool, len(s.Links))
	for i, l := range s.Links {
		var state scenario.State
		for _, e := range s.Events {
			if e.Link == l.Name && e.At <= t {
				state.Apply(e.Kind)
			}
		}
		there[i] = state.Carries()
	}
	return there
}

// Sizes on the wire, in bytes.
const (
	fullPacket  = 1500
	fullPayload = 1448 // with TCP timestamps
	tlsRecord   = 16384
	tlsOverhead = 22 // of a record: header, type and tag of TLS 1.3
)

// wastePercent is how much more than the file itself, in full packets, has
// come over the links, in percent of it. HTTP/2's frames, headers, handshakes and
// packets that are not full count as waste: some tenths of a percent where there
// are dozens of connections over TLS.
func wastePercent(delivered, size int64, secure bool) float64 {
	needed := float64(size) * fullPacket / fullPayload
	if secure {
		needed *= 1 + float64(tlsOverhead)/tlsRecord
	}
	return (float64(delivered)/needed - 1) * 100
}
