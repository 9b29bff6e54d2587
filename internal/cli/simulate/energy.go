package simulate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
)

// simulateEnergy holds a rehearsal's flags of energy.
type simulateEnergy struct {
	modes   []string
	radios  []string
	perConn float64 // mW; below 0: as the scenario has it
	maxTime time.Duration
	always  bool // joules are counted, whatever the flags say
	chosen  bool // --energy was given
}

func (o *simulateEnergy) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.modes, "energy", []string{scheduler.EnergyOff.String()}, "as for a download; several are compared, in modelled joules")
	f.StringSliceVar(&o.radios, "radio", nil, "a link's radio, `LINK=MODEL`: "+strings.Join(energy.Names(), ", ")+" (by default the scenario's, or after its name)")
	f.Float64Var(&o.perConn, "per-connection", -1, "power of a connection beside its radio, in `MW` (default: the scenario's)")
	flags.DurationVar(f, &o.maxTime, "max-time", "", 0, "with --energy min-energy, the deadline to meet")
}

// wanted says whether joules are to be counted.
func (o *simulateEnergy) wanted() bool {
	return o.always || len(o.radios) > 0 || o.perConn >= 0 || o.maxTime > 0 || !slices.Equal(o.modes, []string{scheduler.EnergyOff.String()})
}

// check says what is wrong with --energy and --per-connection.
func (o *simulateEnergy) check() error {
	if err := flags.CheckEnergy(o.modes...); err != nil {
		return err
	}
	if o.perConn <= scenario.MaxPerConnection { // which NaN is not
		return nil
	}
	return exit.Usagef("--per-connection: %v is not within 0 to %d", o.perConn, scenario.MaxPerConnection)
}

// apply gives a rehearsal its radios, policy and deadline.
func (o *simulateEnergy) apply(cfg *sim.Config, mode string) error {
	m, offload, _ := scheduler.ParseEnergy(mode) // check has seen to it
	if !o.wanted() {
		return nil
	}
	models := map[string]string{}
	for _, text := range o.radios {
		name, model, _ := strings.Cut(text, "=")
		if !slices.ContainsFunc(cfg.Scenario.Links, func(l scenario.Link) bool { return l.Name == name }) {
			return exit.Usagef("--radio %s: scenario %s has no link %q", text, cfg.Scenario.Name, name)
		}
		models[name] = model
	}
	radios := make([]energy.Radio, len(cfg.Scenario.Links))
	for i, l := range cfg.Scenario.Links {
		model, said := models[l.Name]
		if !said {
			model = cmp.Or(l.Power, string(link.TechOf(l.Name)))
		}
		var known bool
		if radios[i], known = energy.Lookup(model); !known && (said || model != "") {
			return flags.NoSuch("--radio "+l.Name+"=", model, energy.Names())
		}
		if known && o.perConn >= 0 {
			cfg.Scenario.Links[i].Power, cfg.Scenario.Links[i].PerConnection = model, o.perConn
		}
	}
	cfg.SetRadios(radios)
	cfg.Energy, cfg.Offload, cfg.Deadline = m, offload, o.maxTime.Seconds()
	return nil
}

// writeJoules prints a line for each scenario, algorithm and energy policy: what
// they took in time and energy.
func writeJoules(out io.Writer, all []cell) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tALGORITHM\tENERGY\tSECONDS\tMBIT/S\tJOULES (MODELLED)\tPER 100 MB\tMBIT/S PER J\tLINKS") //nolint:errcheck // Flush tells
	for _, c := range all {
		r := c.first()
		//nolint:errcheck // Flush tells
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%.1f\t%.2f\t%.2f\t%.3f\t%s\n",
			r.Scenario, r.Algorithm, r.Energy.Policy, c.median(secondsOf), c.median(mbitOf),
			c.median(joulesOf(total)), c.median(joulesOf(per100MB)), c.median(joulesOf(perJoule)), c.joules())
	}
	return w.Flush()
}

// joules shows each link's share and energy.
func (c cell) joules() string {
	parts := make([]string, len(c.first().Links))
	for i, l := range c.first().Links {
		joules := c.median(func(r *sim.Result) float64 { return r.Links[i].Joules })
		parts[i] = fmt.Sprintf("%s %.0f%% %.2f J", l.Name, c.median(shareOf(i)), joules)
		if l.Reason != "" {
			parts[i] += " (" + l.Reason + ")"
		}
	}
	return strings.Join(parts, ", ")
}
