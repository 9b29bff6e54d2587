package scheduler

import "testing"

// A connection that was given up is no measure of anything when it is used again, however
// fast it was: its link may have become slow since.
func TestSpeedsOfConnectionsThatWereGivenUpAreForgotten(t *testing.T) {
	const rtt = 20 * Millisecond
	var v speeds
	var asked [MaxStreams]queue
	now := Time(1)
	run := func(d Time, most StreamID, each int64) {
		for end := now + d; now < end; now += 10 * Millisecond {
			for s := range most {
				asked[s].requests = 1
				v.total[s] += each
			}
			v.observe(now, rtt, &asked, most, 0)
		}
	}
	run(2*Second, 2, 50_000)
	if v.of(1) < 4e6 {
		t.Fatalf("5 MB/s are taken for %.1f", v.of(1)/1e6)
	}
	run(Second, 1, 50_000) // the second one is given up, and at work still
	if v.of(1) < 4e6 {
		t.Errorf("while it is at work, its 5 MB/s are taken for %.1f", v.of(1)/1e6)
	}
	asked[1].requests = 0
	run(3*Second, 1, 1000)
	if rate := v.of(1); rate > 200e3 {
		t.Errorf("over a link of 100 kB/s it is to bring %.0f kB/s", rate/1e3)
	}
}

// Connections that the server does not serve have no part of the link's rate, known or not: what
// those that it serves are asked for would be as small as if there were many.
func TestRefusedConnectionsHaveNoPartOfTheRate(t *testing.T) {
	l := &link{rtt: roundTrips{min: 20 * Millisecond}}
	l.streams.most = 10
	if part := l.shareOf(0); part != 0.1 {
		t.Errorf("before anything is known each has %v", part)
	}
	for s := StreamID(1); s < 10; s++ {
		l.streams.refuse(s)
	}
	if part := l.shareOf(0); part != 1 {
		t.Errorf("before anything is known the only one that is served has %v", part)
	}
	for now := Millisecond; now < 2*Second; now += 10 * Millisecond {
		for s := range StreamID(2) {
			l.load.queues[s].requests = 1
			l.speeds.total[s] += 10_000
		}
		l.speeds.observe(now, l.rtt.min, &l.load.queues, l.streams.most, l.streams.refused)
	}
	if part := l.shareOf(0); part != 1 {
		t.Errorf("the only one that is served has %v", part)
	}
	if l.speeds.rate[1] != 0 {
		t.Errorf("one that is refused has %.0f bytes/s", l.speeds.rate[1])
	}
}
