package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/launch"
	"github.com/mlget/mlget/internal/results"
	"github.com/mlget/mlget/internal/sweep"
	"github.com/mlget/mlget/internal/units"
)

// sweepOptions holds the flags of a sweep.
type sweepOptions struct {
	input       string
	recursive   bool
	concurrency []int
	parallelism []int
	block       []string
	runs        int
	seed        uint64
	state       string
	scratch     string
	warmUp      int
	coolDown    restFlag
	baseline    time.Duration
	tails       time.Duration
	format      string
	output      string
}

func newBenchSweepCommand(stdio console.IO) *cobra.Command {
	var o sweepOptions
	full := sweep.Full()
	cmd := &cobra.Command{
		Use:   "sweep [flags] [URL...] [-- MLGET FLAGS...]",
		Short: "Download with every combination of -j, -p and block size",
		Long: `Download the same files with every combination of concurrency, parallelism and
block size, in random order, each in a process of its own, and print what came of
it: throughput, joules per 100 MB, and power, as in Guner and Kosar's papers.

What follows -- are flags for each download: links, how power is measured. Every
download goes to a directory of its own, which is removed after it. Before the next
one the radios are given time to sleep: a base power that is measured while they are
awake makes joules too low. Results are
kept at once in --state FILE; the same command goes on where an interrupted one
stopped, and only prints the tables when nothing is left to do.

With --tails D, for two files, what a radio's tail costs is compared instead: one
of them alone, both back to back, and both at once, with D of power after each.`,
		Example: `  mlget bench sweep -j 1,4,16 -p 1,4 -b 16K -n 3 -i urls.txt -- --links wlan0
  mlget bench sweep -i urls.txt -- --power battery --power-baseline 10s
  mlget bench sweep --tails 15s -n 3 URL1 URL2 -- --links rmnet0`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var extra []string
			if at := cmd.ArgsLenAtDash(); at >= 0 {
				args, extra = args[:at], args[at:]
			}
			if cmd.Flags().Changed("tails") {
				return runTails(cmd.Context(), &o, args, extra, stdio)
			}
			return runSweep(cmd.Context(), &o, args, extra, stdio)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.input, "input-file", "i", "", "read URLs from `FILE`, one a line; - = standard input")
	f.BoolVarP(&o.recursive, "recursive", "r", false, "each URL is a directory's index: download all its files")
	f.IntSliceVarP(&o.concurrency, "concurrency", "j", full.Concurrency, "files at once")
	f.IntSliceVarP(&o.parallelism, "parallelism", "p", full.Parallelism, "streams of a file on each link")
	f.StringSliceVarP(&o.block, "block-size", "b", []string{"1K", "2K", "4K", "8K", "16K", "32K", "64K"}, "sizes of one I/O request")
	f.IntVarP(&o.runs, "runs", "n", 5, "downloads with every combination")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the order")
	f.StringVar(&o.state, "state", "sweep.jsonl", "`FILE` of the results; the same command continues")
	f.StringVar(&o.scratch, "scratch", "", "`DIR` for downloads (default: the temporary directory)")
	f.IntVar(&o.warmUp, "warm-up", 1, "downloads before the first one that counts")
	f.Var(&o.coolDown, "cool-down", "pause after every download; auto = until the radios sleep, by their models (LTE: 13s), 2s at least")
	flags.DurationVar(f, &o.baseline, "power-baseline", "", 2*time.Second, "measure power for this time before every download, if possible")
	flags.DurationVar(f, &o.tails, "tails", "", 0, "compare the tails of two URLs: measure power for this time after each download")
	f.StringVar(&o.format, "format", "text", "format of the tables: text, csv, json")
	f.StringVarP(&o.output, "output", "o", "", "`FILE` to write them to (default: standard output)")
	f.SortFlags = false
	for _, grid := range []string{"concurrency", "parallelism", "block-size", "recursive", "state", "warm-up"} {
		cmd.MarkFlagsMutuallyExclusive("tails", grid)
	}
	return cmd
}

// grid checks the flags, and makes a grid of them.
func (o *sweepOptions) grid() (sweep.Grid, error) {
	g := sweep.Grid{Concurrency: o.concurrency, Parallelism: o.parallelism}
	for _, text := range o.block {
		n, err := units.ParseSize(text)
		if err != nil {
			return g, exit.Usagef("--block-size: %w", err)
		}
		g.Block = append(g.Block, n)
	}
	if err := g.Check(); err != nil {
		return g, exit.UsageError{Err: err}
	}
	switch {
	case o.runs < 1 || o.runs > 1000:
		return g, exit.Usagef("--runs %d: must be within 1 to 1000", o.runs)
	case o.warmUp < 0 || o.warmUp > 100:
		return g, exit.Usagef("--warm-up %d: must be within 0 to 100", o.warmUp)
	case !slices.Contains([]string{"text", "csv", "json"}, o.format):
		return g, exit.Usagef("--format %s: there are text, csv, json", o.format)
	}
	return g, nil
}

// targets are the URLs, one a line.
func (o *sweepOptions) targets(urls []string, in io.Reader) ([]byte, error) {
	var b bytes.Buffer
	for _, u := range urls {
		b.WriteString(u + "\n")
	}
	switch o.input {
	case "":
	case "-":
		if _, err := b.ReadFrom(in); err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("standard input: %w", err)}
		}
	default:
		text, err := os.ReadFile(o.input)
		if err != nil {
			return nil, exit.FileError{Err: err}
		}
		b.Write(text)
	}
	if len(bytes.TrimSpace(b.Bytes())) == 0 {
		return nil, exit.Usagef("no URL: name URLs, or a file of them with -i")
	}
	return b.Bytes(), nil
}

func runSweep(ctx context.Context, o *sweepOptions, urls, extra []string, stdio console.IO) (err error) {
	grid, err := o.grid()
	if err != nil {
		return err
	}
	list, err := o.targets(urls, stdio.In)
	if err != nil {
		return err
	}
	self, err := launch.Of(os.Args).Self()
	if err != nil {
		return err
	}
	warnOfRest(stdio.Err, longestTail(ctx, nil, extra).settle(nil, &o.coolDown, 2*time.Second))
	sum := sha256.Sum256(list)
	targets, one, several := len(bytes.Fields(list)), "URL", "URLs"
	if o.recursive {
		one, several = "directory", "directories"
	}
	if targets == 1 {
		several = one
	}
	h := sweep.Header{
		Schema: sweep.Schema, Grid: grid, Seed: o.seed, Version: program.Version(),
		Target: fmt.Sprintf("%d %s, list %s", targets, several, hex.EncodeToString(sum[:6])),
	}
	if len(extra) > 0 {
		h.Fingerprint = fingerprint(extra)
	}
	journal, err := results.Open[sweep.Header, sweep.Result](o.state, h)
	if err != nil {
		if errors.Is(err, results.ErrOther) {
			return exit.Usagef("--state: %w; name another file, or remove it", err)
		}
		return exit.FileError{Err: err}
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	dir, err := os.MkdirTemp(o.scratch, "mlget-sweep-")
	if err != nil {
		return exit.FileError{Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	child := &sweepChild{self: self, dir: dir, list: list, recursive: o.recursive, baseline: o.baseline, extra: extra}
	s := sweep.Session{
		Plan: sweep.Plan(grid, o.runs, o.seed), Journal: journal, Runner: child,
		WarmUp: o.warmUp, CoolDown: o.coolDown.d, Progress: stdio.Err,
	}
	ended := s.Run(ctx)
	if err := o.tables(h, journal.Results, stdio.Out); err != nil {
		return errors.Join(ended, err)
	}
	if ended == nil {
		if err := sweep.AnyOK(journal.Results); err != nil {
			return fmt.Errorf("bench sweep: %w", err)
		}
	}
	return ended
}

// tables writes what there is, also after an interrupt.
func (o *sweepOptions) tables(h sweep.Header, done []sweep.Result, out io.Writer) error {
	write := sweep.Markdown
	switch o.format {
	case "csv":
		write = sweep.CSV
	case "json":
		write = sweep.JSON
	}
	if o.output == "" {
		return write(out, h, done)
	}
	return console.Create(o.output, func(out io.Writer) error { return write(out, h, done) })
}

// sweepChild downloads in processes of this program, one after the other.
type sweepChild struct {
	self      []string
	dir       string // for what they need and write
	list      []byte
	recursive bool
	baseline  time.Duration
	extra     []string
}

// Run implements sweep.Runner.
func (c *sweepChild) Run(ctx context.Context, s sweep.Setting) (m sweep.Measure, failure string, err error) {
	dir, err := os.MkdirTemp(c.dir, "run-")
	if err != nil {
		return m, "", exit.FileError{Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	list, report := filepath.Join(dir, "urls.txt"), filepath.Join(dir, "report.json")
	if err := os.WriteFile(list, c.list, 0o600); err != nil {
		return m, "", exit.FileError{Err: err}
	}
	args := []string{"--power-baseline", c.baseline.String()}
	args = append(args, c.extra...) // it may say otherwise
	args = append(args, "--mode", "manual")
	args = append(args, c.settings(s)...)
	args = append(args, "--quiet", "--report", report, "-P", filepath.Join(dir, "files"))
	if c.recursive {
		args = append(args, "-r")
	}
	var said bytes.Buffer
	cmd := program.Command(ctx, c.self, append(args, "-i", list)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	failed := cmd.Run()
	if ctx.Err() != nil {
		return m, "", context.Cause(ctx)
	}
	if failed != nil && cmd.ProcessState == nil {
		return m, "", failed // it could not be started at all
	}
	if cmd.ProcessState.ExitCode() == exit.Usage {
		return m, "", exit.Usagef("a download with the flags behind --: %s", program.LastLine(said.String()))
	}
	text, err := os.ReadFile(report)
	if err != nil {
		if failed != nil {
			m.ExitCode = max(0, cmd.ProcessState.ExitCode()) // it may have been killed
			return m, "no report: " + program.LastLine(said.String()), nil
		}
		return m, "", exit.FileError{Err: err}
	}
	if m, err = sweep.ParseReport(text); err != nil {
		return m, "", err
	}
	if failed != nil {
		failure = fmt.Sprintf("%v: %s", failed, program.LastLine(said.String()))
	}
	return m, failure, nil
}

// settings are a setting as flags.
func (c *sweepChild) settings(s sweep.Setting) []string {
	return []string{"-j", strconv.Itoa(s.Concurrency), "-p", strconv.Itoa(s.Parallelism), "--block-size", strconv.FormatInt(s.Block, 10)}
}
