package cli

import (
	"context"
	"fmt"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
)

// chosen is a link of the run, with what the report says of it.
type chosen struct {
	net  *link.Link
	info event.LinkInfo
	spec link.Spec
}

// choose finds the links that the flags name. What is left out is told to warn.
func (o *getOptions) choose(ctx context.Context, warn func(important bool, text string)) ([]chosen, error) {
	specs, err := o.specs()
	if err != nil {
		return nil, err
	}
	infos, err := link.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", link.ErrNoLink, err)
	}
	usable, rejected, err := link.Choose(infos, o.links)
	for _, r := range rejected {
		text := fmt.Sprintf("link %s is not used: %s", r.Name, r.Why)
		if r.Fix != "" {
			text += " (" + r.Fix + ")"
		}
		warn(r.Named, text)
		if r.Named && o.requireAll {
			return nil, fmt.Errorf("%w: %s: %s", link.ErrNoLink, r.Name, r.Why)
		}
	}
	if err != nil {
		return nil, err
	}
	all := make([]chosen, 0, len(usable))
	for _, info := range usable {
		spec := specs[info.Name]
		delete(specs, info.Name)
		l := link.New(info, spec, link.Options{Family: o.family(), ConnectTimeout: o.connectTime})
		info = l.Info()
		all = append(all, chosen{net: l, spec: spec, info: event.LinkInfo{Name: info.Name, Bind: string(info.Bind), Tech: string(info.Tech)}})
	}
	for name := range specs {
		warn(true, fmt.Sprintf("link %s has attributes but is not used", name))
	}
	return all, nil
}

// specs reads the --link flags, by name.
func (o *getOptions) specs() (map[string]link.Spec, error) {
	specs := make(map[string]link.Spec, len(o.linkSpecs))
	for _, text := range o.linkSpecs {
		s, err := link.ParseSpec(text)
		if err != nil {
			return nil, usageError{err}
		}
		if s.Cap != 0 || s.Role != "" {
			return nil, usagef("--link %s: cap and role are not known to this version", text)
		}
		if _, twice := specs[s.Name]; twice {
			return nil, usagef("--link %s: the link is described twice", s.Name)
		}
		specs[s.Name] = s
	}
	return specs, nil
}

func (o *getOptions) family() link.Family {
	switch {
	case o.ipv4 && !o.ipv6:
		return link.FamilyIPv4
	case o.ipv6 && !o.ipv4:
		return link.FamilyIPv6
	}
	return link.FamilyAny
}

// watchLinks tells the links of a run when their interfaces are back, until ctx
// ends. Where the system does not tell, links are tried again after a while.
func watchLinks(ctx context.Context, links []chosen, shared []*engine.Link) error {
	changes, err := link.Watch(ctx)
	if err != nil || changes == nil {
		return err
	}
	go func() {
		for c := range changes {
			for i, l := range links {
				if !c.Gone && (c.Name == l.info.Name || c.Kind == link.ChangeUnknown) {
					shared[i].Returned()
				}
			}
		}
	}()
	return nil
}

// networks gives the engine its side of the links.
func networks(links []chosen) (nets []engine.Network, bandwidths []float64, rates []int64) {
	for _, l := range links {
		nets = append(nets, l.net)
		bandwidths = append(bandwidths, l.spec.Bandwidth)
		rates = append(rates, l.spec.Rate)
	}
	return nets, bandwidths, rates
}
