package report

import (
	"fmt"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Tuning is how a link's connections were shared out among many files from some
// moment on, and why.
type Tuning struct {
	AtSeconds float64        `json:"at_seconds"` // since the run began
	Link      string         `json:"link"`
	Mode      string         `json:"mode"` // "manual", "hat", "eht" or "lowe"
	Plan      scheduler.Plan `json:"plan"`
	Why       string         `json:"why"`
	// Watts are what the device drew above its base power while that was found out, and
	// WattsSource is "model", or what measured them; none where a mode does not go by power.
	Watts       float64 `json:"watts,omitempty"`
	WattsSource string  `json:"watts_source,omitempty"`
}

// maxTuning is how many changes a report has: the first ones, and half as many of
// the last.
const maxTuning = 300

// tuningTally keeps the changes that a report has.
type tuningTally struct {
	first, last []event.Tuned
}

func (t *tuningTally) add(e event.Tuned) {
	if len(t.first) < maxTuning*2/3 {
		t.first = append(t.first, e)
		return
	}
	if len(t.last) == maxTuning/3 {
		t.last = append(t.last[:0], t.last[1:]...)
	}
	t.last = append(t.last, e)
}

// reportTuning says what was chosen, in the order of time.
func (b *Builder) reportTuning() (all []Tuning) {
	for _, changes := range [][]event.Tuned{b.tuning.first, b.tuning.last} {
		for _, e := range changes {
			name := fmt.Sprintf("link %d", e.Link)
			if i := int(e.Link); i >= 0 && i < len(b.run.Links) {
				name = b.run.Links[i].Name
			}
			all = append(all, Tuning{round(e.At.Seconds()), name, e.Mode, e.Plan, e.Why, round(e.Watts), e.WattsSource})
		}
	}
	return all
}
