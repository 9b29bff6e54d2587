package scheduler

import "testing"

func TestTheLeastRoundTripIsKept(t *testing.T) {
	var r roundTrips
	if r.known() != unknownTrip || r.now() != unknownTrip {
		t.Errorf("at first %v s", r.known().Seconds())
	}
	r.observeSilence(80 * Millisecond)
	if r.reach() != 160*Millisecond { // as long again
		t.Errorf("waited for in vain for 0.08 s: %v s", r.reach().Seconds())
	}
	for _, rtt := range []Time{0, 50 * Millisecond, 20 * Millisecond, 0, 30 * Millisecond} {
		r.observeMin(rtt)
	}
	if r.min != 20*Millisecond || r.reach() != 20*Millisecond {
		t.Errorf("the least is %v s, the reach %v s", r.min.Seconds(), r.reach().Seconds())
	}
	if r.setMin(40 * Millisecond); r.min != 40*Millisecond {
		t.Errorf("the system says 0.04 s: %v s", r.min.Seconds())
	}
}

// TestTheLeastOfThreeAnswersCounts: one may have been the server's, or a lost packet's.
func TestTheLeastOfThreeAnswersCounts(t *testing.T) {
	r := roundTrips{min: 20 * Millisecond}
	for i, tt := range []struct{ wait, want Time }{
		{300 * Millisecond, 300 * Millisecond},
		{200 * Millisecond, 200 * Millisecond},
		{10 * Millisecond, 20 * Millisecond}, // no less than the round trip
		{400 * Millisecond, 20 * Millisecond},
		{500 * Millisecond, 20 * Millisecond},
		{600 * Millisecond, 400 * Millisecond},
	} {
		if r.observeAnswer(tt.wait); r.toAnswer() != tt.want {
			t.Errorf("answer %d: %v s, want %v s", i, r.toAnswer().Seconds(), tt.want.Seconds())
		}
	}
}

// TestAPathIsAsLongAsBothSay: an answer may have waited for the server, and data in a queue.
func TestAPathIsAsLongAsBothSay(t *testing.T) {
	const ms = Millisecond
	for _, tt := range []struct{ answer, data, want Time }{
		{0, 0, 20 * ms}, {300 * ms, 0, 20 * ms}, {0, 300 * ms, 20 * ms}, {300 * ms, 200 * ms, 200 * ms}, {200 * ms, 300 * ms, 200 * ms},
	} {
		r := roundTrips{min: 20 * ms}
		r.observeData(tt.data)
		if tt.answer > 0 {
			r.observeAnswer(tt.answer)
		}
		if r.path() != tt.want {
			t.Errorf("answers take %v s, data %v s: %v s", tt.answer.Seconds(), tt.data.Seconds(), r.path().Seconds())
		}
	}
}

// TestAProbesHandshakeTellsHowLongALinkIs when the probe has made one.
func TestAProbesHandshakeTellsHowLongALinkIs(t *testing.T) {
	var r roundTrips
	r.observeHandshake(Second, 20*Millisecond)
	r.beginProbe()
	if limit := r.probeLimit(400 * Millisecond); limit != 400*Millisecond {
		t.Errorf("before its handshake a probe may take %v s", limit.Seconds())
	}
	if r.endBan(); r.regained != 0 {
		t.Errorf("without a handshake it is %v s long", r.regained.Seconds())
	}
	r.observeHandshake(900*Millisecond, 20*Millisecond)
	if limit := r.probeLimit(400 * Millisecond); limit != silentRTTs*900*Millisecond {
		t.Errorf("after its handshake a probe may take %v s", limit.Seconds())
	}
	if r.endBan(); r.regained != 900*Millisecond {
		t.Errorf("it is %v s long", r.regained.Seconds())
	}
}
