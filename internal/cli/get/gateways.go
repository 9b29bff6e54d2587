package get

import (
	"slices"

	"github.com/mlget/mlget/internal/link"
)

// gateways are the routes of a run's links that have one of their own, by the links' names. The
// zero value has none.
type gateways struct {
	open map[string]*link.Gateway
}

// gatewaysOf are the names of an interface's links by gateways, sorted.
func gatewaysOf(name string, specs map[string]link.Spec) (keys []string) {
	for key, s := range specs {
		if s.Via.IsValid() && s.Name == name {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// over is an interface as the link of that name uses it, by its gateway; why not, where that
// cannot be.
func (g *gateways) over(key string, info link.Info, p *plans) (over link.Info, why string) {
	spec := p.specs[key]
	if why, _ := p.refusal(key, spec); why != "" {
		return link.Info{}, why
	}
	gate := g.open[key]
	if gate == nil {
		var err error
		if gate, err = link.OpenGateway(info, spec.Via); err != nil {
			return link.Info{}, err.Error()
		}
		if g.open == nil {
			g.open = make(map[string]*link.Gateway)
		}
		g.open[key] = gate
	}
	over, err := gate.Over(info)
	if err != nil {
		return link.Info{}, err.Error()
	}
	return over, ""
}

// close removes the routes.
func (g *gateways) close() {
	for _, gate := range g.open {
		_ = gate.Close() // the next run removes what is left
	}
	g.open = nil
}
