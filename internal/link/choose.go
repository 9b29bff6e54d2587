package link

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/term"
)

// ErrNoLink says that no usable link is left.
var ErrNoLink = errors.New("no usable link")

// Auto stands, in place of a name, for every usable link that leads somewhere by
// itself and is not metered, and for a metered one where there is no other.
const Auto = "auto"

// All stands for every usable link that leads somewhere by itself, metered ones too.
const All = "all"

// Rejected is a link that was not chosen, and why.
type Rejected struct {
	Name  string // raw; escape it before it goes to a terminal
	Why   string
	Fix   string // the command that mends it; may be empty
	Named bool   // the user asked for it by name
	// Metered is why, where nothing else is: it was usable.
	Metered Metered
}

// Choose picks the links with which a download begins: named ones, in the order of the names;
// all of a named kind (wifi, cellular, ethernet); for All every link that is not virtual and
// has no fatal problem and no warning; and for Auto, or no names at all, those of them that are
// not metered, or a single metered link if there would be none. A named link is taken whatever
// it is, lo included, unless it has a fatal problem. Rejected holds the named links that cannot
// be taken and, for Auto and All, the real ones that were left out. The error is ErrNoLink when
// no link is left.
func Choose(infos []Info, names []string) ([]Info, []Rejected, error) {
	usable, rejected := choose(infos, names)
	if at := onlyMetered(infos, rejected); len(usable) == 0 && at >= 0 {
		usable = []Info{infos[at]}
		rejected = slices.DeleteFunc(rejected, func(r Rejected) bool { return r.Name == infos[at].Name })
	}
	if len(usable) > 0 {
		return usable, rejected, nil
	}
	return nil, rejected, fmt.Errorf("%w: %s", ErrNoLink, whyNone(rejected))
}

// whyNone says why each of the links was left out, in few words: those with the same reason
// together.
func whyNone(rejected []Rejected) string {
	if len(rejected) == 0 {
		return "no network is connected"
	}
	var reasons []string
	named := make(map[string][]string) // by reason
	for _, r := range rejected {
		if named[r.Why] == nil {
			reasons = append(reasons, r.Why)
		}
		named[r.Why] = append(named[r.Why], term.Printable(r.Name))
	}
	const most = 2 // reasons, and names for each, in one line
	parts := make([]string, 0, most)
	for _, why := range reasons[:min(most, len(reasons))] {
		names := named[why]
		text := strings.Join(names[:min(most, len(names))], ", ")
		if more := len(names) - most; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text+": "+why)
	}
	return strings.Join(parts, "; ")
}

// Choosable picks the links that may take part in a download that has begun: as Choose, except
// for metered links that were not named. A lost link is no reason to spend money.
func Choosable(infos []Info, names []string) []Info {
	usable, _ := choose(infos, names)
	return usable
}

func choose(infos []Info, names []string) (usable []Info, rejected []Rejected) {
	if len(names) == 0 {
		names = []string{Auto}
	}
	seen := make(map[string]bool)
	for _, name := range names {
		if name == Auto || name == All || seen[name] {
			continue
		}
		seen[name] = true
		at := slices.IndexFunc(infos, func(i Info) bool { return i.Name == name })
		if at < 0 && IsGroup(name) {
			more, without := chooseKind(infos, name, seen)
			usable, rejected = append(usable, more...), append(rejected, without...)
			continue
		}
		if at < 0 {
			rejected = append(rejected, Rejected{Name: name, Why: "no such interface", Fix: "mlget links", Named: true})
			continue
		}
		if why, fix, ok := infos[at].refusal(false); !ok {
			rejected = append(rejected, Rejected{Name: name, Why: why, Fix: fix, Named: true})
			continue
		}
		usable = append(usable, infos[at])
	}
	all := slices.Contains(names, All)
	if !all && !slices.Contains(names, Auto) {
		return usable, rejected
	}
	for _, info := range infos {
		if seen[info.Name] || info.Virtual != VirtualNot {
			continue
		}
		if why, fix, ok := info.refusal(true); !ok {
			rejected = append(rejected, Rejected{Name: info.Name, Why: why, Fix: fix})
			continue
		}
		if info.Metered != MeteredNo && !all {
			rejected = append(rejected, Rejected{Name: info.Name, Why: "its data may cost money (" + string(info.Metered) + ")", Metered: info.Metered})
			continue
		}
		usable = append(usable, info)
	}
	return usable, rejected
}

// onlyMetered is the index of the metered link to begin with if there is no other: the one with
// the default route, else the first. -1: none. A free link whose plan or hours refuse it now
// counts as another: it is no reason to spend money on the next.
func onlyMetered(infos []Info, rejected []Rejected) int {
	if slices.ContainsFunc(infos, func(i Info) bool { return i.refused && i.Virtual == VirtualNot && i.Metered == MeteredNo }) {
		return -1
	}
	first := -1
	for _, r := range rejected {
		at := slices.IndexFunc(infos, func(i Info) bool { return i.Name == r.Name })
		switch {
		case r.Metered == MeteredNo || at < 0:
		case infos[at].Main:
			return at
		case first < 0:
			first = at
		}
	}
	return first
}

// refusal says why a link is not taken; auto asks for one without warnings.
func (i Info) refusal(auto bool) (why, fix string, ok bool) {
	p := i.worst(Fatal)
	if p == nil && auto {
		p = i.worst(Warning)
	}
	if p != nil && p.Fix == "" && len(p.Ways) > 0 {
		return p.What, "mlget links tells the ways out", false
	}
	if p != nil {
		return p.What, p.Fix, false
	}
	if i.Bind == BindNone {
		return "sockets cannot be bound to it", "", false
	}
	return "", "", true
}
