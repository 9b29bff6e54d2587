package bench

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/stats"
)

// energy writes the report on what the tools cost.
func (w *writer) energy(h Header, results []Result) {
	w.line("# Energy in the laboratory")
	w.line("")
	w.line("Written by `linklab bench --energy`; do not edit. All joules are modelled: computed from the packets that crossed the emulated links, by the radio models that the scenarios name ([energy-models.md](../energy-models.md)), not measured on a phone.")
	w.intro(h, results)
	for _, s := range h.Scenarios {
		for _, t := range []Transport{Clear, TLS2} {
			w.energyTable(h, s, t, pick(results, s, t))
		}
	}
	w.line("")
	w.line("## How to read this")
	w.line("")
	for _, s := range []string{
		"Every round runs every tool once over the same links (the same seed), one after the other in random order; each run has new links, a new server and idle radios. Figures are medians of the runs that succeeded; for seconds, a run that failed counts as longer than all others.",
		"J: what all radios spent above idling, promotions and tails included, from the tool's start until every radio was idle again; σ is its sample standard deviation. The columns named as links are its parts. after: what of it came after the tool's end; most of that is LTE's tail.",
		"J/100 MB: J for each 10⁸ bytes of the file. Mbit/s per J: the file's size over the seconds, over J.",
		"phone: J, and what the rest of the phone draws from the tool's start to its end: a faster download lets it sleep earlier.",
		"processor J: what the tool would cost a phone's processor, modelled: 0.7 W while it works, and 0.2 mJ for each voluntary context switch, as if each woke a core ([energy.md](../energy.md#the-processors-share)). It is not in the other columns.",
		"mlget is told the links' radio models (--energy-model), which are those that are counted, and not their bandwidths: what min-energy and emtcp decide by, it has to find out.",
		"wget2 takes the link with the default route, wlan0, whatever it is told; mlget-single, and each curl, take one. aria2 runs with routing rules by source address.",
	} {
		w.line("- %s", s)
	}
}

// energyTable writes the table of one scenario over one transport.
func (w *writer) energyTable(h Header, name string, t Transport, results []Result) {
	groups := byTool(h.Tools, results)
	if len(groups) == 0 {
		return
	}
	w.heading("## "+filepath.Base(name), t)
	links, models, base := radiosOf(results)
	w.line("Radios: %s; the rest of the phone draws %s W.", strings.Join(models, ", "), num(base, 2))
	columns := []column{toolColumn(), secondsColumn(), median("J", 2, dynamicOf), of("σ", 2, stats.Sigma, dynamicOf)}
	for _, name := range links {
		columns = append(columns, median(name, 2, energyOf(func(_ Result, e linklab.Energy) float64 {
			for _, l := range e.Links {
				if l.Name == name {
					return l.Dynamic
				}
			}
			return 0
		})))
	}
	w.table(groups, append(columns,
		median("after", 2, energyOf(func(_ Result, e linklab.Energy) float64 { return e.Total.After })),
		median("J/100 MB", 2, per100MB(h.Size)),
		median("Mbit/s per J", 2, perJoule(h.Size)),
		median("phone J", 2, energyOf(func(r Result, e linklab.Energy) float64 { return e.Total.Dynamic + e.BaseWatts*r.Seconds })),
		processorJoules("processor J"), runsColumn())...)
}

// radiosOf are the links whose energy the results tell, these with their models,
// and the power of the rest of the phone.
func radiosOf(results []Result) (names, models []string, base float64) {
	for _, r := range results {
		if r.Energy == nil {
			continue
		}
		base = r.Energy.BaseWatts
		for _, l := range r.Energy.Links {
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
				models = append(models, l.Name+" `"+l.Model+"`")
			}
		}
	}
	return names, models, base
}
