package get

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
)

// chosen is a link of the run, with what the report says of it.
type chosen struct {
	net   *link.Link
	found link.Info // before spec
	info  event.LinkInfo
	// described is the name that --link has for it: its own, or its kind's.
	described string
	// own says that the link has a name of its own, not the interface's, since it goes through
	// a proxy or by a gateway: the interface may have several.
	own bool
}

// choose finds the links that the flags name, and the plans and hours of all links that they
// describe, present or not. Links that are left out are reported to warn. If no link is named
// and all URLs lead to this machine, the loopback link is chosen: no other leads there.
func (o *Options) choose(
	ctx context.Context, system lister, here bool, gateways *gateways, warn func(important bool, text string),
) ([]chosen, *plans, error) {
	specs, err := o.specs()
	if err != nil {
		return nil, nil, err
	}
	infos, err := system.List(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", link.ErrNoLink, err)
	}
	if at := slices.IndexFunc(infos, func(i link.Info) bool { return i.Virtual == link.VirtualLoopback }); here && at >= 0 {
		o.links = []string{infos[at].Name}
	}
	infos = link.Apply(infos, specs)
	plans := newPlans(ctx, specs, warn)
	refused := plans.refuse(infos)
	through := o.takeProxied(infos, specs)
	usable, rejected, err := link.Choose(infos, o.links)
	o.leftOut = TellOfCosts(usable, rejected, o.links, warn)
	for _, r := range rejected {
		if r.Metered != link.MeteredNo {
			continue
		}
		text := fmt.Sprintf("link %s is not used: %s", r.Name, r.Why)
		if r.Fix != "" {
			text += " (" + r.Fix + ")"
		}
		warn(r.Named || slices.Contains(refused, r.Name), text)
		if r.Named && o.requireAll {
			return nil, nil, fmt.Errorf("%w: %s: %s", link.ErrNoLink, r.Name, r.Why)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if at := slices.IndexFunc(usable, func(i link.Info) bool { return i.PastVPN != "" }); at >= 0 {
		warn(true, fmt.Sprintf("link %s goes past the VPN %s, which is up", usable[at].Name, usable[at].PastVPN))
	}
	var all []chosen
	if through.only {
		usable = usable[:1]
	} else {
		for _, info := range usable {
			keys := gatewaysOf(info.Name, specs)
			for _, key := range keys {
				over, why := gateways.over(key, info, plans)
				if why != "" {
					warn(true, fmt.Sprintf("link %s is not used: %s", key, why))
					refused = append(refused, key)
					if o.requireAll {
						return nil, nil, fmt.Errorf("%w: %s: %s", link.ErrNoLink, key, why)
					}
					continue
				}
				l := o.link(over, specs, key)
				all = append(all, chosen{net: l, found: over, info: eventInfo(l), described: key, own: true})
			}
			if len(keys) > 0 {
				continue
			}
			_, described := link.SpecOf(info, specs)
			l := o.link(info, specs, "")
			all = append(all, chosen{net: l, found: info, info: eventInfo(l), described: described})
		}
	}
	for _, name := range through.names {
		if why, _ := plans.refusal(name, specs[name]); why != "" {
			warn(true, fmt.Sprintf("link %s is not used: %s", name, why))
			refused = append(refused, name)
			continue
		}
		info := carrier(infos, usable[0], specs[name])
		l := o.link(info, specs, name)
		all = append(all, chosen{net: l, found: info, info: eventInfo(l), described: name, own: true})
	}
	for name := range specs {
		isLeftOut := slices.ContainsFunc(infos, func(i link.Info) bool { // which has been told
			_, described := link.SpecOf(i, specs)
			return described == name && (slices.Contains(o.leftOut, i.Name) || slices.Contains(refused, i.Name))
		}) || slices.Contains(refused, name)
		if !isLeftOut && !slices.ContainsFunc(all, func(c chosen) bool { return c.described == name }) {
			warn(true, fmt.Sprintf("link %s has attributes but is not used", name))
		}
	}
	if len(all) == 0 {
		return nil, nil, link.ErrNoLink
	}
	return all, plans, nil
}

// TellOfCosts says in one notice which links are left out since their data may cost
// money, or that the only link there is does. It gives the names of those left out.
func TellOfCosts(usable []link.Info, rejected []link.Rejected, names []string, warn func(important bool, text string)) (leftOut []string) {
	var described []string
	for _, r := range rejected {
		if r.Metered != link.MeteredNo {
			leftOut = append(leftOut, r.Name)
			described = append(described, fmt.Sprintf("%s (%s)", r.Name, r.Metered))
		}
	}
	onlyMetered := len(usable) == 1 && usable[0].Metered != link.MeteredNo && slices.Contains(names, link.Auto)
	switch {
	case len(leftOut) > 0:
		it, is := "it", "is"
		if len(leftOut) > 1 {
			it, is = "them", "are"
		}
		text := fmt.Sprintf("%s %s left out, as data over %s may cost money: --links all uses %s too, --link %s,metered=no says that it is free",
			strings.Join(described, " and "), is, it, it, leftOut[0])
		if onlyMetered {
			text += fmt.Sprintf("; no link is free, and %s (%s) is used", usable[0].Name, usable[0].Metered)
		}
		warn(true, text)
	case onlyMetered:
		warn(true, fmt.Sprintf("%s (%s) is the only link: data over it may cost money", usable[0].Name, usable[0].Metered))
	}
	return leftOut
}

// link makes a link of an interface, with what the flags say of it, or of the link that has
// that name of its own.
func (o *Options) link(info link.Info, specs map[string]link.Spec, own string) *link.Link {
	spec, _ := link.SpecOf(info, specs)
	if own != "" {
		spec = specs[own]
	}
	return link.New(info, spec, link.Options{Family: o.family(), ConnectTimeout: o.connectTime, Global: o.global})
}

func eventInfo(l *link.Link) event.LinkInfo {
	info := l.Info()
	return event.LinkInfo{Name: l.Name(), Bind: string(info.Bind), Tech: string(info.Tech)}
}

// specs reads the --link flags, by name.
func (o *Options) specs() (map[string]link.Spec, error) {
	specs := make(map[string]link.Spec, len(o.linkSpecs))
	for _, text := range o.linkSpecs {
		s, err := link.ParseSpec(text)
		if err != nil {
			return nil, exit.UsageError{Err: err}
		}
		if _, twice := specs[s.Key()]; twice {
			return nil, exit.Usagef("--link %s: the link is described twice", s.Key())
		}
		if err := checkLinkProxy(s); err != nil {
			return nil, err
		}
		specs[s.Key()] = s
	}
	return specs, nil
}

func (o *Options) family() link.Family {
	switch {
	case o.ipv4 && !o.ipv6:
		return link.FamilyIPv4
	case o.ipv6 && !o.ipv4:
		return link.FamilyIPv6
	}
	return link.FamilyAny
}

// networks gives the engine its side of the links.
func networks(links []chosen, models energy.Models) (nets []engine.Network, terms []engine.Terms) {
	for _, l := range links {
		nets = append(nets, l.net)
		terms = append(terms, termsOf(l.net, models))
	}
	return nets, terms
}
