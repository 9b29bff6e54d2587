package tuning

import (
	"fmt"

	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// rebalanced is how often classes are compared [R, ProMC].
	rebalanced = 3 * scheduler.Second
	// agedWeight is the part of a class's older rate in its present one.
	agedWeight = 0.6
	// uneven is how many times as long the slowest class must take as the fastest
	// one, and unevenTimes how often in a row.
	uneven      = 2
	unevenTimes = 3
)

// balance is how the classes have come along.
type balance struct {
	at       scheduler.Time
	received [scheduler.MaxClasses]int64
	rate     [scheduler.MaxClasses]float64 // bytes per second
	times    int
	from, to int // of the last times
}

// rebalance moves a connection from the class that will be done first to the one
// that will be done last, where that takes twice as long even after it [R, ProMC]:
// every 3 s, by rate = 0.6 old + 0.4 new, three times in a row. A connection whose
// class has no work left goes where there is the most by itself: that is the
// Core's doing.
func (t *Tuner) rebalance(o *Observation, out []Change) []Change {
	b := &t.balance
	passed := t.now - b.at
	if passed < rebalanced {
		return out
	}
	for i := range b.rate {
		rate := float64(o.Received[i]-b.received[i]) / passed.Seconds()
		if b.rate[i] > 0 {
			rate = float64(agedWeight*b.rate[i]) + float64((1-agedWeight)*rate)
		}
		b.rate[i] = rate
	}
	b.at, b.received = t.now, o.Received
	from, to, ok := t.unbalanced(o)
	if !ok || b.times > 0 && (from != b.from || to != b.to) {
		b.times = 0
	}
	if !ok {
		return out
	}
	b.from, b.to = from, to
	if b.times++; b.times < unevenTimes {
		return out
	}
	b.times = 0
	id, n := -1, 1
	for i := range t.links {
		if l := &t.links[i]; l.up && l.plan.Classes[from].Connections > n {
			id, n = i, l.plan.Classes[from].Connections
		}
	}
	if id < 0 {
		return out
	}
	plan := t.links[id].plan
	plan.Classes[from].Connections--
	plan.Classes[to].Connections++
	plan.Classes[to].Parallelism = max(1, plan.Classes[to].Parallelism)
	return t.propose(id, plan, fmt.Sprintf("rebalanced: a connection from %s to %s files", className(from), className(to)), out)
}

// unbalanced are the fastest and the slowest class, if the slowest takes too long.
func (t *Tuner) unbalanced(o *Observation) (fastest, slowest int, ok bool) {
	fastest, slowest = -1, -1
	var eta [scheduler.MaxClasses]float64
	for i, left := range o.Left {
		if left <= 0 || t.balance.rate[i] <= 0 {
			continue
		}
		eta[i] = float64(left) / t.balance.rate[i]
		if fastest < 0 || eta[i] < eta[fastest] {
			fastest = i
		}
		if slowest < 0 || eta[i] > eta[slowest] {
			slowest = i
		}
	}
	if fastest == slowest {
		return 0, 0, false
	}
	f, s := t.connections(fastest), t.connections(slowest)
	if f < 2 {
		return 0, 0, false
	}
	after := eta[fastest] * float64(f) / float64(f-1)
	return fastest, slowest, eta[slowest]*float64(s)/float64(s+1) >= uneven*after
}

// connections is how many of all links serve a class.
func (t *Tuner) connections(class int) (n int) {
	for i := range t.links {
		if l := &t.links[i]; l.up {
			n += l.plan.Classes[class].Connections
		}
	}
	return n
}

// className is a class for people.
func className(class int) string {
	return [scheduler.MaxClasses]string{small: "small", medium: "medium", large: "large"}[class]
}
