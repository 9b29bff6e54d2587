// Package simulate is the command that rehearses downloads in virtual time.
package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/policy"
	"github.com/mlget/mlget/internal/execpolicy"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
)

// randomPrefix before a number names a scenario that is made up from it, and
// jobPrefix a job of many files.
const (
	randomPrefix = "random:"
	jobPrefix    = "files:"
)

// simulateOptions holds the flags of a rehearsal.
type simulateOptions struct {
	scenarios   []string
	algorithms  []string
	runs        int
	seed        uint64
	size        flags.Size
	overlap     flags.Overlap
	parallelism flags.Count
	buffer      flags.Size
	staticLimit flags.Size
	padding     flags.Padding
	noSteal     bool
	noFailover  bool
	http2       bool
	json        bool
	energy      simulateEnergy
	files       simulateFiles
}

func (o *simulateOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVarP(&o.scenarios, "scenario", "s", []string{"high-speed"},
		"linklab's scenarios, by name or file; all; "+randomPrefix+"N = made up from N; "+jobPrefix+"N = a job of many files")
	f.StringSliceVar(&o.algorithms, "algorithm", scheduler.Names(), "the algorithms to compare; exec:PROGRAM is one of your own")
	f.IntVar(&o.runs, "runs", 1, "runs with differently varying links; medians are shown")
	f.Uint64Var(&o.seed, "seed", 1, "random seed of the first run")
	o.size = flags.Size{Bytes: 250e6, Text: "250MB"}
	f.Var(&o.size, "size", "of the file")
	f.Var(&o.overlap, "overlap", "as for a download")
	o.parallelism.Most = scheduler.MaxStreams
	f.VarP(&o.parallelism, "parallelism", "p", "as for a download")
	f.Var(&o.buffer, "receive-buffer", "what a connection has in flight at most, whatever its congestion window")
	o.staticLimit = flags.Size{Bytes: 4 << 20, Text: "4M"}
	f.Var(&o.staticLimit, "static-limit", "as for a download")
	o.padding = scheduler.AutoPadding
	f.Var(&o.padding, "bdp-padding", "as for a download")
	f.BoolVar(&o.noSteal, "no-steal", false, "as for a download")
	f.BoolVar(&o.noFailover, "no-failover", false, "as for a download")
	f.BoolVar(&o.http2, "http2", false, "HTTP/2 over TLS 1.3 rather than HTTP/1.1 in clear")
	f.BoolVar(&o.json, "json", false, "print JSON: every run")
	o.energy.addFlags(f)
	o.files.addFlags(f)
}

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	var o simulateOptions
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate downloads over model links, in virtual time",
		Long: `simulate runs the scheduler of a download over model links in virtual time:
TCP's handshakes and slow start, build-up and wandering of rates, failures.
"efficiency" is the least time in which the links could carry the file (the
fluid bound) over the time taken, "of TCP" the same with what slow start and
loss leave to one connection on each link: the yardstick for small files and
long round trips. Above 1, several connections on a link were the better way.`,
		Example: `  mlget simulate --scenario wifi-dies --algorithm 3
  mlget simulate --scenario all --runs 10
  mlget simulate --scenario random:1645 --algorithm 3 --json
  mlget simulate --scenario low-speed --algorithm 3 --energy off,emtcp,min-energy
  mlget simulate --scenario sydney --files html,image,video --mode hat,eht,lowe
  mlget simulate --scenario sydney --files html --mode manual -j 1,2,4,8,16,32`,
		Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.CheckLists(cmd.Flags(), "scenario", "algorithm", "energy", "files", "mode"); err != nil {
				return err
			}
			o.energy.chosen, o.files.chosen = cmd.Flags().Changed("energy"), cmd.Flags().Changed("mode")
			o.energy.always = o.files.used()
			for _, flag := range []string{"mode", "concurrency", "known-sizes"} {
				if cmd.Flags().Changed(flag) && !o.files.used() && !o.jobs() {
					return exit.Usagef("--%s needs --files", flag)
				}
			}
			if o.jobs() && !o.files.used() {
				if err := o.checkJobs(cmd.Flags()); err != nil {
					return err
				}
			}
			return unlessEnded(cmd.Context(), func() error { return runSimulate(&o, stdio) })
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

// unlessEnded stops a rehearsal as soon as ctx ends: it has no state to save, and virtual time
// never checks ctx.
func unlessEnded(ctx context.Context, rehearse func() error) error {
	done := make(chan error, 1)
	go func() { done <- rehearse() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return exit.ErrLeft
	}
}

func runSimulate(o *simulateOptions, stdio console.IO) error {
	out := stdio.Out
	if o.runs < 1 || o.runs > 100_000 {
		return exit.Usagef("--runs %d: must be within 1 to 100000", o.runs)
	}
	if err := cmp.Or(policy.Check(o.algorithms...), o.energy.check()); err != nil {
		return err
	}
	if o.files.used() || o.jobs() {
		if err := o.checkFiles(); err != nil {
			return err
		}
		return o.runFiles(out)
	}
	var all []cell
	for _, name := range o.named() {
		for _, algorithm := range o.algorithms {
			for _, energy := range o.energy.modes {
				runs, err := o.rehearse(name, algorithm, energy, stdio.Err)
				if err != nil {
					return err
				}
				all = append(all, runs)
			}
		}
	}
	if o.json {
		return console.WriteJSON(out, slices.Concat(all...))
	}
	if o.energy.wanted() {
		return writeJoules(out, all)
	}
	return writeRehearsals(out, all)
}

// named are the names of the scenarios, of which one stands for all.
func (o *simulateOptions) named() []string {
	if slices.Equal(o.scenarios, []string{"all"}) {
		return scenario.Names()
	}
	return o.scenarios
}

// rehearse is all runs of one scenario with one algorithm and energy policy.
func (o *simulateOptions) rehearse(name, algorithm, energy string, stderr io.Writer) (cell, error) {
	cfg, err := o.config(name)
	if err != nil {
		return nil, err
	}
	cfg.Algorithm = algorithm
	if err := o.energy.apply(&cfg, energy); err != nil {
		return nil, err
	}
	what := name + " with algorithm " + algorithm
	program, err := policy.Start(algorithm, float64(o.padding), stderr)
	switch {
	case err != nil:
		return nil, err
	case program == nil:
		return o.repeat(what, cfg, sim.RunWithBound)
	}
	end := policy.Watch(program, func(_ bool, text string) { exit.Print(stderr, errors.New(text), "") })
	cfg.Policy = program.Policy() // for Validate
	runs, err := o.repeat(what, cfg, func(cfg sim.Config) (sim.Result, error) {
		cfg.Policy = program.Policy()
		return sim.RunWithBound(cfg)
	})
	if t := end(); t.LateAnswers > 0 && t.Error == "" {
		exit.Print(stderr, fmt.Errorf("%s: %d of %d answers came after more than %v, and Algorithm 3's were taken: the figures may differ from run to run",
			what, t.LateAnswers, t.Questions, execpolicy.Patience), "")
	}
	return runs, err
}

// config is the scenario of that name as a rehearsal. A random one has its own size, protocol
// and seed.
func (o *simulateOptions) config(name string) (sim.Config, error) {
	var cfg sim.Config
	if isJob := strings.HasPrefix(name, jobPrefix); isJob || strings.HasPrefix(name, randomPrefix) {
		_, number, _ := strings.Cut(name, ":")
		seed, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return cfg, exit.Usagef("scenario %q: %q is not a number", name, number)
		}
		if isJob {
			return sim.RandomFiles(seed), nil
		}
		cfg = sim.Random(seed)
	} else {
		s, err := scenario.Load(name)
		switch {
		case errors.As(err, new(*fs.PathError)):
			return cfg, exit.FileError{Err: err}
		case err != nil:
			return cfg, exit.UsageError{Err: err}
		}
		cfg = sim.Default(s, "")
		cfg.Size, cfg.Seed, cfg.HTTP2 = o.size.Bytes, o.seed, o.http2
		if o.http2 {
			cfg.TLSTrips = 1
		}
	}
	cfg.StaticLimit, cfg.Padding, cfg.Overlap = o.staticLimit.Bytes, float64(o.padding), float64(o.overlap)
	cfg.NoSteal, cfg.NoFailover, cfg.Parallelism, cfg.Receive = o.noSteal, o.noFailover, o.parallelism.N, o.buffer.Bytes
	return cfg, nil
}

// writeRehearsals prints a line for each scenario and algorithm.
func writeRehearsals(out io.Writer, all []cell) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tALGORITHM\tSECONDS\tBOUND\tEFFICIENCY\tWORST\tOF TCP\tLINK Δ\tWASTE\tREQUESTS\tLINKS") //nolint:errcheck // Flush tells
	for _, c := range all {
		r := c.first()
		//nolint:errcheck // Flush tells
		fmt.Fprintf(w, "%s\t%s\t%.2f\t%.2f\t%.4f\t%.4f\t%.4f\t%.3f\t%s\t%.0f\t%s\n",
			r.Scenario, r.Algorithm,
			c.median(secondsOf), c.median(func(r *sim.Result) float64 { return r.BoundSeconds }),
			c.median(efficiencyOf), c.worst(efficiencyOf), c.median(func(r *sim.Result) float64 { return r.OfReference }),
			c.median(linkDeltaOf), c.waste(), c.median(requestsOf), c.shares())
	}
	return w.Flush()
}
