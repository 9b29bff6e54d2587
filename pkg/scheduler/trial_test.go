package scheduler

import "testing"

// TestATrialIsKeptIfItBringsMore: a quarter more than before, measured after the new connections
// have left slow start; each that is in vain is followed by a rest, twice as long each time.
func TestATrialIsKeptIfItBringsMore(t *testing.T) {
	const base, span = 1e6, Second
	for _, tt := range []struct {
		rate float64
		want verdict
	}{{1.2e6, vain}, {1.3e6, gained}} {
		var tr trial
		for n, rest := range []Time{Second, 2 * Second, 4 * Second} {
			begin := Time(100*(n+1)) * Second
			tr.begin(begin, 1, base)
			for at := begin; ; at += 100 * Millisecond {
				since := (at - begin).Seconds()
				bytes := int64(tt.rate * since)
				if since < 1 {
					bytes = 0 // slow start, which is not measured
				}
				v, rate := tr.judge(countMark{at, at, bytes}, span)
				if v == pending {
					if at > begin+5*Second {
						t.Fatal("no verdict")
					}
					continue
				}
				if v != tt.want || tr.running || rate < 0.99*tt.rate || rate > 1.01*tt.rate {
					t.Errorf("%.0f bytes/s after %.0f: verdict %d, %.0f bytes/s", tt.rate, base, v, rate)
				}
				if at < begin+2*span {
					t.Errorf("measured for %v s only", (at - begin).Seconds())
				}
				if v == vain && tr.restUntil != at+rest {
					t.Errorf("after %d in vain a rest of %v s", n+1, (tr.restUntil - at).Seconds())
				}
				break
			}
		}
	}
}
