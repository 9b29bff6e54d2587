package tuning

import (
	"strings"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// far is what is seen of the phone's link so many round trips after its first bytes, while it
// carries part of what it can over so many connections, and data waits for waits round trips.
func far(streams int, part, waits float64) LinkView {
	return LinkView{
		Up: true, Rate: part * 7.36e6, Bandwidth: 7.36e6, RTT: toSydney, Streams: streams,
		Trip: scheduler.FromSeconds((1 + waits) * toSydney.Seconds()),
	}
}

// hat is a Tuner that knows files, and what it observes of them.
func hat(t *testing.T, files, bytes int64) (*Tuner, *Observation) {
	t.Helper()
	tuner, err := New(Config{Mode: HAT, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	o := &Observation{}
	for range files {
		tuner.Size(bytes)
		o.Left[0] += bytes
		o.Files[0]++
	}
	return tuner, o
}

// Where files are larger than the bandwidth-delay product, HAT's number is there before the
// transfer is under way, as in the paper (algorithm 2). Small files need the many connections of
// the start, and a short job ends before fewer have grown.
func TestGunerKosarAlgorithm2LargeFilesArePlannedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		files, bytes int64
		want         int
	}{
		"large files":  {24, 17e6, many},
		"small files":  {1500, 131e3, 0},
		"a short job":  {3, 10e6, 0},
		"medium files": {200, 640e3, 0},
	} {
		tuner, o := hat(t, c.files, c.bytes)
		v := far(58, 0.1, 0)
		v.Bandwidth = v.Rate // of slow start; nobody knows yet what it will be
		o.Links = []LinkView{v}
		changes := tuner.Step(600*scheduler.Millisecond, *o, nil)
		got := 0
		if len(changes) > 0 {
			got = changes[0].Plan.Connections()
		}
		if got != c.want {
			t.Errorf("%s: %d connections, want %d", name, got, c.want)
		}
	}
}

// A job that is nearly over when its connections have left slow start keeps them all: what they
// were asked for is what is left.
func TestHATMakesNoPlanForTheEnd(t *testing.T) {
	for seconds, want := range map[int64]int{20: 1, 4: 0} {
		tuner, o := hat(t, seconds*56, 131e3)
		o.Links = []LinkView{far(58, 1, 1)}
		var changes []Change
		for trip := range scheduler.Time(8) {
			changes = tuner.Step(scheduler.Second+trip*toSydney, *o, changes)
		}
		if got := min(1, len(changes)); got != want {
			t.Errorf("%d s left: %+v", seconds, changes)
		}
	}
}

// A rate that falls while data still waits for the link fell for another reason than that there
// are too few connections, if some were given up before.
func TestHATTriesNoMoreConnectionsBehindAQueue(t *testing.T) {
	for name, c := range map[string]struct {
		waits float64 // round trips
		tried bool
	}{"a queue stands": {0.6, false}, "none does": {0, true}} {
		tuner, o := hat(t, 100, 17e6)
		now, plan := 600*scheduler.Millisecond, many
		step := func(part, waits float64) (tried bool) {
			now += 250 * scheduler.Millisecond
			o.Received[0] += int64(part * 7.36e6 / 4)
			o.Left[0] -= int64(part * 7.36e6 / 4)
			o.Links = []LinkView{far(plan, part, waits)}
			for _, ch := range tuner.Step(now, *o, nil) {
				plan = ch.Plan.Connections()
				tried = tried || strings.Contains(ch.Why, "to see whether")
			}
			return tried
		}
		for range 60 {
			step(1, 1.2) // the windows of all are more than the link and its queue hold
		}
		if plan > 2*few {
			t.Fatalf("%s: %d connections where a queue stands", name, plan)
		}
		tried := false
		for range 60 {
			tried = step(0.7, c.waits) || tried
		}
		if tried != c.tried {
			t.Errorf("%s: more were tried: %v", name, tried)
		}
	}
}
