package scheduler

import "testing"

// TestPoliciesWithoutAUsableLink: a policy is asked about links that are not usable, too, and there
// may be no other.
func TestPoliciesWithoutAUsableLink(t *testing.T) {
	for _, name := range Names() {
		for state, end := range map[string]func(r *rig){
			"none is up yet": func(*rig) {},
			"all are down": func(r *rig) {
				r.up(3)
				for id := range LinkID(3) {
					r.step(Input{Kind: LinkDown, Link: id})
				}
			},
			"all wait after a failure": func(r *rig) {
				for _, a := range r.up(3) {
					if a.Kind == Start {
						r.step(Input{Kind: Failed, Link: a.Link, Chunk: a.Chunk, Wait: 100 * Second})
					}
				}
				for id := range LinkID(3) {
					r.core.links[id].health.notBefore = 100 * Second
				}
			},
		} {
			for _, size := range []int64{-1, 10 << 20} {
				policy, err := NewPolicy(name, 4<<20, 0.3)
				if err != nil {
					t.Fatal(err)
				}
				r := newRig(t, Config{Links: 3, Policy: policy, Size: size})
				end(r)
				v := View{r.core}
				if n := v.UsableLinks(); n != 0 {
					t.Fatalf("%s: %d links are usable", state, n)
				}
				for id := range LinkID(3) {
					if n := policy.Request(v, id); n > max(r.core.flight.left(), 10<<20) {
						t.Errorf("%s, %s: link %d asks for %d bytes", name, state, id, n)
					}
					policy.Victim(v, id)
				}
			}
		}
	}
}
