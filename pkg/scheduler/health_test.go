package scheduler

import "testing"

// TestBansGetLonger: 0.1 s each until there were more than sixteen in a row, then twice as long as
// the one before, up to 30 s (docs/scheduler.md).
func TestBansGetLonger(t *testing.T) {
	h, now := health{up: true}, Second
	for n := 1; n <= 40; n++ {
		want := 100 * Millisecond
		for range n - 17 {
			want = min(30*Second, 2*want)
		}
		h.ban(now)
		if got := h.notBefore - now; got != want || h.fit(now+want) {
			t.Errorf("ban %d lasts %v s, want %v s; it may be asked: %v", n, got.Seconds(), want.Seconds(), h.fit(now+want))
		}
		now += want
	}
	h.unban(now)
	if !h.fit(now) {
		t.Error("it may not be asked when the ban is over")
	}
	if h.ban(now); h.notBefore != now+100*Millisecond {
		t.Errorf("the next ban lasts %v s", (h.notBefore - now).Seconds())
	}
}

func TestALinkIsFitWhenItsWaitIsOver(t *testing.T) {
	var h health
	if h.fit(Second) {
		t.Error("a link that is down is fit")
	}
	h.goesUp(Second, 0)
	if !h.fit(Second) {
		t.Error("a link that is up is not fit")
	}
	h.wait(Second, 3*Second)
	h.wait(2*Second, Second) // the longer wait holds
	if h.fit(3*Second) || !h.fit(4*Second) {
		t.Errorf("fit after 2 s: %v, after 3 s: %v", h.fit(3*Second), h.fit(4*Second))
	}
	if h.wait(Second, Never); h.notBefore != Never {
		t.Errorf("a wait without end ends at %v", h.notBefore)
	}
	h.inVain, h.slowBans, h.reconnect.tries = 3, 2, 1
	if h.goesDown(); h.fit(Never) || h.inVain != 0 || h.slowBans != 0 || h.reconnect.tries != 0 {
		t.Errorf("down: %+v", h)
	}
}

// TestALinkIsSlowAfterAWhile of the time in which one looked: a look at which it is not slow
// begins anew, and a time in which nobody looked does not count.
func TestALinkIsSlowAfterAWhile(t *testing.T) {
	h := health{slowSince: Never}
	for _, tt := range []struct {
		at         Time
		slow, want bool
	}{{Second, true, false}, {3 * Second, true, false}, {3*Second + 1, true, true}, {4 * Second, false, false}, {5 * Second, true, false}} {
		if got := h.below(tt.at, tt.slow, 2*Second); got != tt.want {
			t.Errorf("at %v s, slow %v: %v", tt.at.Seconds(), tt.slow, got)
		}
	}
	h.lastByte = 5 * Second
	h.forgive(15*Second, 9*Second)
	if h.idle(15*Second) != Second || h.below(15*Second, true, 2*Second) {
		t.Errorf("9 s of 10 were not looked at: idle for %v s, slow: %v", h.idle(15*Second).Seconds(), h.below(15*Second, true, 2*Second))
	}
}
