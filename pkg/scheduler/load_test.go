package scheduler

import (
	"math/rand/v2"
	"testing"
)

// TestLoadIsTheSumOfItsQueues whatever is asked for, comes, or is given up.
func TestLoadIsTheSumOfItsQueues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var o load
	type request struct {
		stream StreamID
		left   int64
	}
	var open []request
	for step := range 10_000 {
		switch n := random.IntN(3); {
		case n == 0 && len(open) < 40 || len(open) == 0:
			r := request{StreamID(random.IntN(MaxStreams)), 1 + random.Int64N(1000)}
			first := true
			for _, q := range open {
				first = first && q.stream != r.stream
			}
			if o.begin(r.stream) != first {
				t.Fatalf("step %d: the first request of its stream: %v", step, !first)
			}
			o.owe(r.stream, r.left)
			open = append(open, r)
		case n == 1:
			r := &open[random.IntN(len(open))]
			got := random.Int64N(r.left + 1)
			o.owe(r.stream, -got)
			o.got(got)
			r.left -= got
		default:
			i := random.IntN(len(open))
			r := open[i]
			open = append(open[:i], open[i+1:]...)
			last := true
			for _, q := range open {
				last = last && q.stream != r.stream
			}
			o.owe(r.stream, -r.left)
			if o.end(r.stream) != last {
				t.Fatalf("step %d: the last request of its stream: %v", step, !last)
			}
		}
		owed, busy := int64(0), map[StreamID]bool{}
		for _, q := range open {
			owed += q.left
			busy[q.stream] = true
		}
		if o.owed() != owed || o.requests != len(open) || o.working != len(busy) {
			t.Fatalf("step %d: %d bytes, %d requests on %d streams; counted %d, %d and %d", step, owed, len(open), len(busy), o.owed(), o.requests, o.working)
		}
	}
}

// TestALinkThatBroughtNothingIsFruitless until a byte comes of what it was asked for last.
func TestALinkThatBroughtNothingIsFruitless(t *testing.T) {
	var o load
	o.begin(0)
	if !o.fruitless() {
		t.Errorf("asked at first: %+v", o)
	}
	if o.got(1); o.fruitless() {
		t.Errorf("a byte has come: %+v", o)
	}
	o.end(0)
	o.begin(0)
	o.end(0)
	if o.begin(0); !o.fruitless() {
		t.Errorf("asked in vain, and again: %+v", o)
	}
}
