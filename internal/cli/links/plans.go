package links

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
)

// dataPlans are the data plans that were ever used, as they stand.
func dataPlans(ctx context.Context) ([]plan.Status, error) {
	book, err := plan.Open(time.UTC)
	if err != nil {
		return nil, nil //nolint:nilerr // no plan can have been used
	}
	if plans, err := book.Statuses(); err != nil || len(plans) == 0 {
		return nil, err // on a phone programs would be started to know the zone
	}
	zone, _ := plan.Zone(ctx) // where it is not known, the days are UTC's
	if book, err = plan.Open(zone); err != nil {
		return nil, err
	}
	return book.Statuses()
}

// planned is a link with its data plan.
type planned struct {
	link.Info
	Plan *plan.Status `json:"data_plan,omitempty"`
}

// withPlans are the links, each with its plan, if it has one: by its name, or by its kind's.
func withPlans(infos []link.Info, plans []plan.Status) []planned {
	specs := make(map[string]link.Spec, len(plans))
	byName := make(map[string]*plan.Status, len(plans))
	for i := range plans {
		specs[plans[i].Link] = link.Spec{Name: plans[i].Link}
		byName[plans[i].Link] = &plans[i]
	}
	list := make([]planned, 0, len(infos))
	for _, i := range infos {
		_, described := link.SpecOf(i, specs)
		list = append(list, planned{i, byName[described]})
	}
	return list
}

// describePlans says where plans stand, or why that cannot be told; "" where there are none.
func describePlans(plans []plan.Status, err error) string {
	if err != nil {
		return fmt.Sprintf("\n%v\n    without that file the use counts anew\n", err)
	}
	var b strings.Builder
	for _, p := range plans {
		if b.Len() == 0 {
			b.WriteString("\nData plans, as far as mlget has used them:\n")
		}
		fmt.Fprintf(&b, "%s: %s left until %s, %s of %s used\n",
			term.Printable(p.Link), units.Bytes(p.Left), p.Until, units.Bytes(p.Used), p.Plan)
		if p.Ahead {
			b.WriteString("    some of it on days that are still to come: the clock was set back\n")
		}
	}
	return b.String()
}
