package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/campaign"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/cli/policy"
	clireport "github.com/mlget/mlget/internal/cli/report"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/page"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/study"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/pkg/scheduler"
)

// benchRunOptions holds the flags of a campaign.
type benchRunOptions struct {
	links      []string
	algorithms []string
	energies   []string
	runs       int
	seed       uint64
	pause      restFlag
	baseline   time.Duration
	tail       restFlag
	dir        string
	quiet      bool
	extra      []string // flags of the downloads
}

func (o *benchRunOptions) addFlags(f *pflag.FlagSet) {
	f.StringSliceVarP(&o.links, "links", "l", []string{link.Auto}, "as for a download: single is measured over each, the others over all")
	f.StringSliceVar(&o.algorithms, "algorithm", thesisOrder(), "the algorithms to compare; exec:PROGRAM is one of your own")
	f.StringSliceVar(&o.energies, "energy", []string{scheduler.EnergyOff.String()}, "the energy policies to compare")
	f.IntVarP(&o.runs, "runs", "n", 10, "runs of each")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the random order")
	f.Var(&o.pause, "cool-down", "pause between runs; auto = until the radios sleep, by their models, 5s at least")
	flags.DurationVar(f, &o.baseline, "power-baseline", "", 5*time.Second, "measure power for this time before each download")
	f.Var(&o.tail, "tail", "and for so long after it; auto = until the radios sleep, and 3s (LTE: 15s)")
	f.StringVarP(&o.dir, "directory-prefix", "P", "mlget-bench", "`DIR` for records, reports and the page; the same DIR continues")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "do not report each run")
}

// thesisOrder is all algorithms, in the order of the thesis.
func thesisOrder() []string {
	order := []string{"single", "naive", "1", "2", "3"}
	for _, name := range scheduler.Names() {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return order
}

func newBenchRunCommand(stdio console.IO) *cobra.Command {
	var o benchRunOptions
	cmd := &cobra.Command{
		Use:   "run [flags] URL [-- FLAGS OF THE DOWNLOADS]",
		Short: "Measure algorithms over real links, as the thesis did",
		Long: `run downloads a URL with every algorithm a number of times, in random order, each
in a process of its own; it keeps records and reports, and ends with the report over
all of them (report.html, runs.csv). A radio stays awake after a download (LTE for
11.6 s): a base that is measured meanwhile is too high, and the joules above it too
low, so runs wait for that. A run whose base is out of line with the others' is
marked and made again, twice at most. Interrupted, it keeps what is complete, and the
same command goes on. What is downloaded is removed. See docs/bench-run.md.`,
		Example: `  mlget bench run -l wlan0,rmnet0 http://server/250MB.bin
  mlget bench run -l wlan0,rmnet0 -n 3 --algorithm single,1,3 --tail 0 http://server/250MB.bin
  mlget bench run -l wlan0,rmnet0 http://server/a.bin -- --checksum sha256=HEX --power battery`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at == 1 || at < 0 && len(args) == 1 {
				return nil
			}
			return exit.Usagef("name one URL; flags of the downloads stand behind --")
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.CheckLists(cmd.Flags(), "algorithm", "energy"); err != nil {
				return err
			}
			o.extra = args[1:]
			return runBenchRun(cmd.Context(), &o, args[0], stdio)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

func runBenchRun(ctx context.Context, o *benchRunOptions, text string, stdio console.IO) (err error) {
	plan, err := o.plan(ctx, text, stdio.Err)
	if err != nil {
		return err
	}
	c, err := campaign.Open(o.dir, plan)
	if err != nil {
		return exit.FileError{Err: err}
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	c.Pause = o.pause.d
	left, total := c.Left()
	say := stdio.Err
	if o.quiet {
		say = io.Discard
	}
	_, _ = fmt.Fprintf(say, "mlget: %d runs, %d of them to do; %v of each for pauses and power; Ctrl-C keeps what is done\n",
		total, left, o.pause.d+o.baseline+o.tail.d)
	runner := &selfRunner{url: text, flags: o.flags(), stdio: stdio}
	err = c.Run(ctx, runner, narrator{say})
	if err != nil && !errors.Is(err, engine.ErrInterrupted) {
		err = fmt.Errorf("bench run: %w", err)
	}
	if left, _ := c.Left(); left == total {
		return err // nothing to report
	}
	// An interruption ends the measuring, not what is said of it.
	return errors.Join(err, o.report(context.WithoutCancel(ctx), c.Runs(), stdio))
}

// plan checks the flags and makes the plan.
func (o *benchRunOptions) plan(ctx context.Context, text string, say io.Writer) (campaign.Plan, error) {
	u, err := flags.ParseURL(text)
	if err != nil {
		return campaign.Plan{}, err
	}
	if o.runs < 1 || o.runs > 999 {
		return campaign.Plan{}, exit.Usagef("--runs %d: must be within 1 to 999", o.runs)
	}
	if err := cmp.Or(policy.Check(o.algorithms...), flags.CheckEnergy(o.energies...)); err != nil {
		return campaign.Plan{}, err
	}
	for _, flag := range o.extra {
		if !strings.HasPrefix(flag, "-") && strings.Contains(flag, "://") {
			return campaign.Plan{}, exit.Usagef("behind -- there are flags of the downloads, no URLs")
		}
	}
	links, err := o.names(ctx, say)
	if err != nil {
		return campaign.Plan{}, err
	}
	warnOfRest(say, longestTail(ctx, links, o.extra).settle(&o.tail, &o.pause, 5*time.Second))
	u.User = nil
	return campaign.Plan{
		URL: u.String(), Runs: o.runs, Seed: o.seed, Flags: fingerprints(o.flags()),
		Approaches: campaign.Approaches(unique(o.algorithms), unique(o.energies), links),
	}, nil
}

func unique(list []string) (once []string) {
	for _, s := range list {
		if !slices.Contains(once, s) {
			once = append(once, s)
		}
	}
	return once
}

// names are the links to measure, all of which have to be usable: a run without one of
// them would be another approach.
func (o *benchRunOptions) names(ctx context.Context, say io.Writer) ([]string, error) {
	all, err := link.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", link.ErrNoLink, err)
	}
	named, err := flags.NamedLinks(o.links)
	if err != nil {
		return nil, err
	}
	usable, rejected, err := link.Choose(all, unique(named))
	if err != nil {
		return nil, err
	}
	get.TellOfCosts(usable, rejected, named, func(_ bool, text string) { exit.Print(say, errors.New(text), "") })
	for _, r := range rejected {
		if r.Named {
			return nil, fmt.Errorf("%w: %s: %s", link.ErrNoLink, r.Name, r.Why)
		}
	}
	names := make([]string, len(usable))
	for i, l := range usable {
		names[i] = l.Name
	}
	return names, nil
}

// flags are those of every download.
func (o *benchRunOptions) flags() []string {
	return append(slices.Clone(o.extra), "--require-all-links", "--power-baseline", o.baseline.String(), "--tail", o.tail.d.String())
}

// report writes the tables, the page and the runs' figures.
func (o *benchRunOptions) report(ctx context.Context, runs string, stdio console.IO) error {
	all, faults := study.Read(ctx, []string{runs}, energy.Models{})
	s := study.New(all, faults)
	if err := page.WriteText(stdio.Out, s, clireport.Columns(), false, page.Options{}); err != nil {
		return exit.FileError{Err: err}
	}
	for _, name := range []string{campaign.PageFile, campaign.TableFile} {
		name = filepath.Join(o.dir, name)
		if err := clireport.WritePage(name, s, page.Options{}); err != nil {
			return err
		}
		if !o.quiet {
			_, _ = fmt.Fprintf(stdio.Err, "mlget: wrote %s\n", term.Printable(name))
		}
	}
	return nil
}

// OutOfLine says that a run's base power is out of line.
func (n narrator) OutOfLine(run string, base, usual float64, again bool) {
	what := "it is kept and marked"
	if again {
		what = "it is made again"
	}
	_, _ = fmt.Fprintf(n.out, "mlget: %s: its base power of %.3f W is out of line with the usual %.3f W: %s\n", run, base, usual, what)
}

// narrator says a line for each run.
type narrator struct{ out io.Writer }

// Ran says what a run came to.
func (n narrator) Ran(done, total int, a campaign.Approach, r report.Report) {
	text := fmt.Sprintf("%.2f s, %.1f Mbit/s", r.Seconds, r.ThroughputMbps)
	if r.Energy != nil {
		text += fmt.Sprintf(", %.1f J", r.Energy.TotalJoules)
		if r.Energy.Modelled {
			text += " (modelled)"
		}
	}
	if r.ExitCode != 0 {
		text = "failed: " + term.Printable(r.Error)
	}
	_, _ = fmt.Fprintf(n.out, "mlget: %d of %d: %s: %s\n", done, total, a.Name, text)
}
