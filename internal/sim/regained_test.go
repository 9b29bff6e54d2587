package sim

import "testing"

// TestARegainedLinkIsAskedForLittle: a slow link is released and regained while 64 connections
// are at work on it. What each had brought before says nothing about what it brings next.
func TestARegainedLinkIsAskedForLittle(t *testing.T) {
	cfg := Random(835)
	cfg.Algorithm = "3"
	with, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.NoFailover = true
	without, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if bans := with.Links[3].Bans; bans == 0 {
		t.Fatal("the link is never released")
	}
	if most := 1.05 * without.Seconds; with.Seconds > most {
		t.Errorf("it took %.2f s, and %.2f s without fail-over", with.Seconds, without.Seconds)
	}
}
