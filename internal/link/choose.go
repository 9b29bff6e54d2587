package link

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlget/mlget/internal/term"
)

// ErrNoLink says that no usable link is left.
var ErrNoLink = errors.New("no usable link")

// Auto stands, in place of a name, for every usable link that leads somewhere
// by itself.
const Auto = "auto"

// Rejected is a link that was not chosen, and why.
type Rejected struct {
	Name  string // raw; escape it before it goes to a terminal
	Why   string
	Fix   string // the command that mends it; may be empty
	Named bool   // the user asked for it by name
}

// Choose picks links: those that are named, in the order of the names; each of a
// kind that is named (wifi, cellular, ethernet), as Auto would; and for Auto, or no
// names at all, every one that is not virtual and has no fatal problem and no
// warning. A named link is taken whatever it is, lo included,
// unless it has a fatal problem. Rejected holds the named links that cannot be
// taken and, for Auto, the real ones that were left out. The error is
// ErrNoLink when no link is left.
func Choose(infos []Info, names []string) ([]Info, []Rejected, error) {
	if len(names) == 0 {
		names = []string{Auto}
	}
	var (
		usable   []Info
		rejected []Rejected
		seen     = make(map[string]bool)
	)
	for _, name := range names {
		if name == Auto || seen[name] {
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
	if slices.Contains(names, Auto) {
		for _, info := range infos {
			if seen[info.Name] || info.Virtual != VirtualNot {
				continue
			}
			if why, fix, ok := info.refusal(true); !ok {
				rejected = append(rejected, Rejected{Name: info.Name, Why: why, Fix: fix})
				continue
			}
			usable = append(usable, info)
		}
	}
	if len(usable) == 0 {
		if len(rejected) == 1 {
			return nil, rejected, fmt.Errorf("%w: %s: %s", ErrNoLink, term.Printable(rejected[0].Name), rejected[0].Why)
		}
		return nil, rejected, ErrNoLink
	}
	return usable, rejected, nil
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
