package engine

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
)

// TestFewWordsBeforeGivingUp: of a server that is busy for ever, three waits are told
// without -v, each with what follows, and the last one how long that goes on.
func TestFewWordsBeforeGivingUp(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(1)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 6
		got := r.get(at(t, serve(t, o), "", "/f"))
		if got.err == nil {
			t.Fatal("it came")
		}
		var told, all []string
		for _, n := range of[event.Notice](got) {
			if !strings.Contains(n.Text, "next try in") {
				continue
			}
			all = append(all, n.Text)
			if n.Warning {
				told = append(told, n.Text)
			}
		}
		if len(told) != maxWaits || len(all) != r.cfg.Tries-1 {
			t.Errorf("%d of %d waits were told: %q", len(told), len(all), all)
		}
		if len(told) > 0 && !strings.Contains(told[len(told)-1], " times at most (-t); -v tells of each") {
			t.Errorf("the last one: %s", told[len(told)-1])
		}
	})(t)
}
