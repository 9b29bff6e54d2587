package simulate

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/internal/units"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

const (
	// untuned is the mode in which the scheduler gets no plan.
	untuned = "untuned"
	// filesAlgorithm is the algorithm of rehearsed jobs of many files.
	filesAlgorithm = "3"
	// mostFiles is how many files a rehearsal may have.
	mostFiles = 1_000_000
)

// simulateFiles holds a rehearsal's flags of many files.
type simulateFiles struct {
	sets   []string
	modes  []string
	at     []int
	known  bool
	chosen bool // --mode was given
}

func (o *simulateFiles) addFlags(f *pflag.FlagSet) {
	f.StringSliceVar(&o.sets, "files", nil, "many files rather than one: "+strings.Join(dataset.Names(), ", ")+", SET/N, SET+SET, or N@SIZE, N@SIZE-SIZE")
	f.StringSliceVar(&o.modes, "mode", []string{tuning.HAT.String()}, "of many files: "+strings.Join(tuning.Names(), ", ")+", "+untuned)
	f.IntSliceVarP(&o.at, "concurrency", "j", []int{0}, "of many files: how many at once; several are compared")
	f.BoolVar(&o.known, "known-sizes", false, "an index tells the sizes of the files")
}

// batch is a set of files as the flags name it. Sizes drawn from a range depend on the seed
// alone.
func (o *simulateFiles) batch(text string, seed uint64) (*sim.Batch, error) {
	b := &sim.Batch{Name: text, Known: o.known}
	number, span, ranged := strings.Cut(text, "@")
	if !ranged {
		set, err := dataset.Parse(text)
		if err != nil {
			return nil, exit.UsageError{Err: err}
		}
		b.Files = sim.Sizes(set)
		return b, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > mostFiles {
		return nil, exit.Usagef("--files %s: %q must be within 1 to %d", text, number, mostFiles)
	}
	low, high, ranged := strings.Cut(span, "-")
	if !ranged {
		high = low
	}
	from, err := units.ParseSize(low)
	if err != nil {
		return nil, exit.Usagef("--files %s: %w", text, err)
	}
	to, err := units.ParseSize(high)
	if err != nil {
		return nil, exit.Usagef("--files %s: %w", text, err)
	}
	if from < 1 || to < from {
		return nil, exit.Usagef("--files %s: the sizes must rise from 1 byte on", text)
	}
	rng := rand.New(rand.NewPCG(seed, 0x66696c6573))
	b.Files = make([]int64, n)
	for i := range b.Files {
		b.Files[i] = from + rng.Int64N(to-from+1)
	}
	return b, nil
}

// runFiles rehearses all that is asked for.
func (o *simulateOptions) runFiles(out io.Writer) error {
	var all []cell
	for _, name := range o.named() {
		if strings.HasPrefix(name, jobPrefix) {
			runs, err := o.rehearseJob(name)
			if err != nil {
				return err
			}
			all = append(all, runs)
			continue
		}
		for _, set := range o.files.sets {
			for _, mode := range o.files.modes {
				for _, at := range o.files.at {
					runs, err := o.rehearseFiles(name, set, mode, at)
					if err != nil {
						return err
					}
					all = append(all, runs)
				}
			}
		}
	}
	if o.json {
		return console.WriteJSON(out, slices.Concat(all...))
	}
	return writeBatches(out, all)
}

// jobs says whether a scenario has its own files.
func (o *simulateOptions) jobs() bool {
	return slices.ContainsFunc(o.scenarios, func(name string) bool { return strings.HasPrefix(name, jobPrefix) })
}

// checkJobs says what does not go together with jobs that are made up, where nothing else
// is rehearsed: they bring with them what most flags say.
func (o *simulateOptions) checkJobs(f *pflag.FlagSet) (err error) {
	for _, name := range o.scenarios {
		if !strings.HasPrefix(name, jobPrefix) {
			return exit.Usagef("--scenario %s: beside a job of many files it needs --files", name)
		}
	}
	if len(o.files.modes) != 1 || len(o.files.at) != 1 {
		return exit.Usagef("--scenario %s goes with one --mode and one --concurrency", o.scenarios[0])
	}
	f.Visit(func(flag *pflag.Flag) {
		switch flag.Name {
		case "scenario", "mode", "json":
		case "concurrency", "parallelism":
			if !o.files.chosen {
				err = exit.Usagef("--%s: %s has its own, if there is no --mode", flag.Name, o.scenarios[0])
			}
		default:
			err = exit.Usagef("--%s: %s brings its own", flag.Name, o.scenarios[0])
		}
	})
	return err
}

// rehearseJob is a job that is made up, in the mode that the flags say, or its own.
func (o *simulateOptions) rehearseJob(name string) (cell, error) {
	cfg, err := o.config(name)
	if err != nil {
		return nil, err
	}
	if o.files.chosen {
		cfg.Batch.Tuning = tuning.Config{Concurrency: o.files.at[0], Parallelism: o.parallelism.N}
		if err := o.files.mode(o.files.modes[0], cfg.Batch); err != nil {
			return nil, err
		}
	}
	res, err := sim.RunWithBound(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return cell{res}, nil
}

// mode sets the mode of that name.
func (o *simulateFiles) mode(name string, b *sim.Batch) (err error) {
	if b.Untuned = name == untuned; b.Untuned {
		return nil
	}
	if b.Tuning.Mode, err = tuning.ParseMode(name); err != nil {
		return flags.NoSuch("--mode", name, append(tuning.Names(), untuned))
	}
	return nil
}

// rehearseFiles is all runs of one set of files in one scenario and mode.
func (o *simulateOptions) rehearseFiles(name, set, mode string, at int) (cell, error) {
	cfg, err := o.config(name)
	if err != nil {
		return nil, err
	}
	if cfg.Batch, err = o.files.batch(set, o.seed); err != nil {
		return nil, err
	}
	cfg.Size = cfg.Batch.Bytes()
	cfg.Algorithm, cfg.Parallelism = filesAlgorithm, 0
	cfg.Batch.Tuning = tuning.Config{Concurrency: at, Parallelism: o.parallelism.N}
	if err := o.files.mode(mode, cfg.Batch); err != nil {
		return nil, err
	}
	policy := o.energy.modes[0]
	if mode == tuning.LowE.String() && !o.energy.chosen {
		policy = scheduler.EnergyMin.String()
	}
	if err := o.energy.apply(&cfg, policy); err != nil {
		return nil, err
	}
	return o.repeat(fmt.Sprintf("%s of %s in mode %s", set, name, mode), cfg, sim.RunWithBound)
}

// writeBatches prints a line for each scenario, set of files and mode.
func writeBatches(out io.Writer, all []cell) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SCENARIO\tFILES\tMODE\tAT ONCE\tSECONDS\tMBIT/S\tOF BOUND\tWORST\tJOULES (MODELLED)\tPER 100 MB\tMBIT/S PER J\tLINK Δ\tCONNECTIONS\tREQUESTS\tWASTE\tLINKS") //nolint:errcheck // Flush tells
	for _, c := range all {
		r := c.first()
		//nolint:errcheck // Flush tells
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\t%.1f\t%.4f\t%.4f\t%.1f\t%.2f\t%.3f\t%.3f\t%.0f\t%.0f\t%s\t%s\n",
			r.Scenario, r.Batch.Name, r.Batch.Mode, atOnce(r.Batch.Concurrency), c.median(secondsOf), c.median(mbitOf),
			c.median(efficiencyOf), c.worst(efficiencyOf),
			c.median(joulesOf(total)), c.median(joulesOf(per100MB)), c.median(joulesOf(perJoule)),
			c.median(linkDeltaOf), c.median(connections), c.median(requestsOf), c.waste(), c.shares())
	}
	return w.Flush()
}

func atOnce(n int) string {
	if n == 0 {
		return "any"
	}
	return strconv.Itoa(n)
}

// connections is how many connections all links made.
func connections(r *sim.Result) float64 {
	n := 0
	for _, l := range r.Links {
		n += l.Connections
	}
	return float64(n)
}

// used says whether a job of many files is to be rehearsed.
func (o *simulateFiles) used() bool { return len(o.sets) > 0 }

// check says what does not go together with many files.
func (o *simulateOptions) checkFiles() error {
	if o.files.used() && len(o.energy.modes) != 1 {
		return exit.Usagef("--files goes with one --energy")
	}
	if all := scheduler.Names(); o.files.used() && !slices.Equal(o.algorithms, all) && !slices.Equal(o.algorithms, []string{filesAlgorithm}) {
		return exit.Usagef("--algorithm %s: many files are rehearsed with %s; --mode is what is compared", strings.Join(o.algorithms, ","), filesAlgorithm)
	}
	return nil
}
