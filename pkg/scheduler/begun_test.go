package scheduler

import "testing"

// TestNobodyRobsWhoHasJustBegun lets a small object's only request receive its
// first bytes while the other link is idle: its rate is not known yet, so what
// would be fair cannot be known either.
func TestNobodyRobsWhoHasJustBegun(t *testing.T) {
	policy, err := NewPolicy("3", 0, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Links: 2, Policy: policy, Size: -1})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(0, Input{Kind: LinkUp, Link: 0}, nil)
	c.Step(0, Input{Kind: LinkUp, Link: 1}, nil)
	c.Step(0, Input{Kind: Tick}, nil)
	c.Step(20*Millisecond, Input{Kind: Sized, Bytes: 200_000}, nil) // nothing is left for link 1
	for _, a := range c.Step(21*Millisecond, Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: 5000}, nil) {
		t.Errorf("%+v", a)
	}
	var shared bool
	for _, a := range c.Step(71*Millisecond, Input{Kind: Progress, Link: 0, Chunk: 0, Bytes: 10_000}, nil) {
		shared = shared || a.Kind == Start && a.Link == 1
		if a.Kind == Cancel {
			t.Errorf("everything was taken: %+v", a)
		}
	}
	if !shared {
		t.Error("the idle link got no share once the rate was known")
	}
}

// TestABannedLinkComesBackWhenItIsTheLast loses the other one while the size is
// unknown still.
func TestABannedLinkComesBackWhenItIsTheLast(t *testing.T) {
	policy, err := NewPolicy("3", 0, 0.3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{Links: 2, Policy: policy, Size: -1})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(0, Input{Kind: LinkUp, Link: 0}, nil)
	c.Step(0, Input{Kind: LinkUp, Link: 1}, nil)
	c.Step(0, Input{Kind: Tick}, nil)
	// Link 1 guessed beyond the end; link 0 does not answer and is banned.
	c.Step(Second, Input{Kind: Failed, Link: 1, Chunk: 1, Wait: 2500 * Millisecond}, nil)
	banned := false
	for _, a := range c.Step(4*Second, Input{Kind: Tick}, nil) {
		banned = banned || a.Kind == Ban && a.Link == 0
	}
	if !banned {
		t.Fatal("link 0 was not banned")
	}
	tried := false
	for _, a := range c.Step(4100*Millisecond, Input{Kind: LinkDown, Link: 1}, nil) {
		tried = tried || a.Kind == Start && a.Link == 0
	}
	if !tried {
		t.Error("link 0 is not tried, though there is no other")
	}
}
