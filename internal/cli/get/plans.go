package get

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/term"
)

// clockEvery is how often the clock on the wall is looked at where links have hours or plans:
// it may be set, and a machine may sleep through an hour at which a timer would go off.
const clockEvery = time.Second

// leastLeft is from how many bytes on a rest of a plan is worth a request, as the scheduler
// has it.
const leastLeft = 16 << 10

// plans are the hours and the data plans of a run's links.
type plans struct {
	specs map[string]link.Spec
	zone  *time.Location
	book  *plan.Book // nil: there is none
	why   error      // why there is none; nil: not needed
	warn  func(important bool, text string)

	stop []func() // stop the keepers of plans
}

// newPlans reads what specs say of plans and hours. Where the zone is not known, the days and
// the hours are UTC's.
func newPlans(ctx context.Context, specs map[string]link.Spec, warn func(important bool, text string)) *plans {
	p := &plans{specs: specs, zone: time.UTC, warn: warn}
	timed, planned := false, false
	for _, s := range specs {
		planned = planned || s.Plan != plan.Plan{}
		timed = timed || planned || s.Window != plan.Window{}
	}
	if !timed {
		return p
	}
	var err error
	if p.zone, err = plan.Zone(ctx); err != nil {
		warn(true, err.Error()+": days and hours of links are those of UTC; TZ=ZONE names one")
	}
	if planned {
		p.book, p.why = plan.Open(p.zone)
	}
	return p
}

// now is the time on the clock on the wall.
func (p *plans) now() time.Time { return plan.Now(p.zone) }

// outside says whether a link is outside of its hours.
func (p *plans) outside(s link.Spec) bool { return !s.Window.Open(p.now()) }

// refusal says why a link is not to be used now, and how to change that; described is the name
// that --link has for it.
func (p *plans) refusal(described string, s link.Spec) (why, fix string) {
	if p.outside(s) {
		return fmt.Sprintf("it is outside of its hours, %s (it is %s)", s.Window, p.now().Format("15:04")), ""
	}
	if s.Plan == (plan.Plan{}) {
		return "", ""
	}
	if p.book == nil {
		return p.why.Error(), ""
	}
	left, err := p.book.Left(described, s.Plan)
	switch {
	case err != nil:
		return err.Error(), "without that file the use counts anew"
	case left < leastLeft:
		return fmt.Sprintf("nothing is left of its data plan, %s, until %s", s.Plan, s.Plan.Until(p.book.Today())), ""
	}
	return "", ""
}

// refuse marks the interfaces that are not to be used now, and gives their names.
func (p *plans) refuse(infos []link.Info) (names []string) {
	for k := range infos {
		s, described := link.SpecOf(infos[k], p.specs)
		if why, fix := p.refusal(described, s); why != "" {
			infos[k].Refuse(why, fix)
			names = append(names, infos[k].Name)
		}
	}
	return names
}

// phase changes when a link may be used that could not be before, or the other way round, by
// the clock; it is empty where the clock does not matter.
func (p *plans) phase() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.specs)) {
		s := p.specs[name]
		if s.Window != (plan.Window{}) {
			fmt.Fprint(&b, p.outside(s))
		}
		if s.Plan != (plan.Plan{}) {
			b.WriteString(string(plan.DayOf(p.now())))
		}
	}
	return b.String()
}

// terms completes the terms of a link: what is left of its plan. The keeper, nil without a
// plan, is to be started with keep.
func (p *plans) terms(described string, s link.Spec, t *engine.Terms) *plan.Keeper {
	if s.Plan == (plan.Plan{}) {
		return nil
	}
	t.Plan, t.Cap = true, 0
	if p.book == nil {
		return nil // it has been refused
	}
	k, err := p.book.Keep(described, s.Plan)
	if err != nil {
		p.warn(true, fmt.Sprintf("nothing is received over link %s: %v", term.Printable(s.Name), err))
		return nil
	}
	t.Cap = k.Left()
	return k
}

// keep keeps the plan of a link from now on, until close.
func (p *plans) keep(k *plan.Keeper, name string, m plan.Meter) {
	if k == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	warn := func(err error) { p.warn(true, fmt.Sprintf("link %s: %v", term.Printable(name), err)) }
	var running sync.WaitGroup
	running.Go(func() { k.Run(ctx, m, warn) })
	p.stop = append(p.stop, func() {
		cancel()
		running.Wait()
		if err := k.Close(m); err != nil {
			warn(err)
		}
	})
}

// close settles the plans: what was not used is given back.
func (p *plans) close() {
	for _, stop := range p.stop {
		stop()
	}
	p.stop = nil
}
