package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/results"
)

const help = `Run download tools over the same emulated links in random order, and print a
report in Markdown: time, share of the fluid bound, Link Δ, waste, CPU, memory.

What is compared, with the defaults of --scenarios, --runs and --size:
  (no flag)    all tools and built-in scenarios, 10 runs of 250 MB: 15 hours,
               twice that with --tls
  --quick      some tools and scenarios, 2 runs of 100 MB: under 10 minutes
  --files      jobs of many files, over sydney and sydney-dual, 3 runs
  --energy     energy of the radios, 3 scenarios, 3 runs of 100 MB: half an hour
  --processor  processor time and wake-ups, beside curl over the better link,
               5 runs: half an hour; ten minutes with --runs 3 --tools
               mlget,curl-best
  --against    this mlget and another build of it, in pairs of runs over links of
               constant rates, 10 pairs of 100 MB: a quarter of an hour. The same
               program twice shows the noise of the measurement.
The time that the runs will take is printed first.

Scenarios: those of ` + "`linklab scenarios`" + `, files, and lo, the unshaped loopback
device.
Tools: mlget (its default), mlget-ALGORITHM, mlget-ENERGY, aria2-CONNECTIONS,
axel, wget2, curl-LINK, curl-best (over the link with the highest rate),
curl-mptcp. For many files: mlget, mlget-MODE, mlget-jN, mlget-jNpM, wget,
wget2-THREADS, curl, curlz-TRANSFERS, aria2-FILES, aria2-FILESxCONNECTIONS.
mlget is looked for beside linklab, then in $PATH. The report names the tools that
are not installed. A tool that fails does not stop the others.

Every result is kept at once in a file of JSON lines. --resume FILE continues an
interrupted run with the same flags.

--document PAGE makes a page of docs/measured anew, at the top of mlget's source
tree; other flags change how. The pages:
`

// flags are the command's, as they are given.
type flags struct {
	quick             bool
	energy, processor bool
	against, document string
	tls               bool
	scenarios, tools  []string
	runs              int
	size              string
	seed              uint64
	receiveBuffer     string
	out, resume       string
	figure            string
	files             []string
}

// Command is `linklab bench`. args are the whole command line, for a copy of
// this process where the user is not root.
func Command(args []string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Compare download tools over emulated links",
		Long:  help + pages(),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.runs == 0 && cmd.Flags().Changed("runs") {
				return errors.New("--runs 0: must be within 1..1000") // 0 stands for the default
			}
			f, err := f.withDocument()
			if err != nil {
				return err
			}
			c, err := f.config()
			if err != nil {
				return err
			}
			if err := linklab.CheckOut(f.out); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
			if err := linklab.CheckOut(f.figure); err != nil {
				return fmt.Errorf("--figure: %w", err)
			}
			if f.document == sweeps {
				return writeSweeps(cmd.Context(), cmd.ErrOrStderr(), f.out)
			}
			return linklab.AsRoot(cmd, args, func(ctx context.Context) error { return run(ctx, cmd, c, f) })
		},
	}
	cmd.Flags().BoolVar(&f.energy, "energy", false, "compare the energy of the radios")
	cmd.Flags().BoolVar(&f.processor, "processor", false, "compare processor time and wake-ups")
	cmd.Flags().StringVar(&f.against, "against", "", "compare mlget with another build of it, the program `FILE`")
	cmd.Flags().StringVar(&f.document, "document", "", "make a `PAGE` of "+documentDir+" anew, as listed above")
	cmd.Flags().StringSliceVar(&f.files, "files", nil, "compare jobs of many files: a `LIST` of sets, separated by commas:\n"+strings.Join(dataset.Names(), ", ")+"; html/600 for the first 600 files,\nhtml/150+video/6 for both in one job")
	cmd.Flags().BoolVar(&f.quick, "quick", false, "run a few tools and scenarios only")
	cmd.Flags().StringSliceVar(&f.scenarios, "scenarios", nil, "scenarios to run: `LIST`, separated by commas")
	cmd.Flags().StringSliceVar(&f.tools, "tools", nil, "tools to run: `LIST`, separated by commas")
	cmd.Flags().IntVar(&f.runs, "runs", 0, "runs of each tool (10; quick: 2, over loopback at least 5; files and\nenergy: 3; processor: 5; against: 10)")
	cmd.Flags().StringVar(&f.size, "size", "", "size of the body, `SIZE` in bytes (250MB; quick, energy and against: 100MB)")
	cmd.Flags().BoolVar(&f.tls, "tls", false, "measure over TLS as well, with HTTP/2 where a tool supports it")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "random seed of the order of runs and of the links")
	cmd.Flags().StringVar(&f.receiveBuffer, "receive-buffer", "", "largest receive buffer of a connection: `SIZE` in bytes, as of an old\nphone (default enough for every link)")
	cmd.Flags().StringVar(&f.figure, "figure", "", "with --files: write an SVG `FILE` of Mbit/s and joules by the number of\nconnections (mlget-j1, mlget-j2 and so on)")
	cmd.Flags().StringVar(&f.out, "out", "", "write the report to `FILE` as well")
	cmd.Flags().StringVar(&f.resume, "resume", "", "continue the results in `FILE` (default: a new file)")
	cmd.MarkFlagsMutuallyExclusive("quick", "energy", "processor", "against", "document")
	cmd.MarkFlagsMutuallyExclusive("against", "files")
	cmd.MarkFlagsMutuallyExclusive("against", "tools")
	cmd.MarkFlagsMutuallyExclusive("processor", "files")
	cmd.MarkFlagsMutuallyExclusive("processor", "size")
	cmd.MarkFlagsMutuallyExclusive("processor", "tls")
	cmd.MarkFlagsMutuallyExclusive("files", "energy")
	cmd.MarkFlagsMutuallyExclusive("files", "size")
	return cmd
}

// config is what the flags ask for, all tools included.
func (f flags) config() (Config, error) {
	c := Config{Options: Options{
		Quick: f.quick, Scenarios: f.scenarios, Rounds: f.runs, TLS: f.tls, Seed: f.seed, Size: 250e6, LoopbackSize: loopbackSize,
		Energy: f.energy, Processor: f.processor, Files: f.files,
	}}
	names := f.tools
	switch {
	case len(f.files) > 0:
		c.Rounds = cmp.Or(c.Rounds, 3)
		c.Scenarios = orElse(c.Scenarios, "sydney", "sydney-dual")
		names = orElse(names, filesDefaults(f.quick)...)
	case f.energy:
		c.Size, c.Rounds = 100e6, cmp.Or(c.Rounds, 3)
		c.Scenarios = orElse(c.Scenarios, "high-speed", "low-speed", "techno-stationary")
		names = orElse(names, slices.Concat([]string{"curl-wlan0", "curl-rmnet0", "wget2", "aria2-2"},
			named(algorithms()...), named(energyModes()...))...)
	case f.processor:
		c.Size, c.Rounds = 100e6, cmp.Or(c.Rounds, 5)
		c.Scenarios = orElse(c.Scenarios, processorScenarios()...)
		names = orElse(names, "mlget", "curl-best", "aria2-2")
	case f.against != "":
		c.Size, c.Rounds = 100e6, cmp.Or(c.Rounds, 10)
		c.Scenarios, names = orElse(c.Scenarios, constantRate()...), []string{"mlget", otherBuild}
	case f.quick:
		c.Size, c.LoopbackSize = 100e6, 500e6
		c.Scenarios = orElse(c.Scenarios, loopback, "high-speed", "low-speed", "always-online", "wifi-dies", "lossy")
		names = orElse(names, "mlget-3", "aria2-2", "aria2-16", "curl-best")
	default:
		c.Scenarios = orElse(c.Scenarios, append(scenario.Names(), loopback)...)
		names = orElse(names, append(named(algorithms()...),
			"aria2-2", "aria2-16", "axel", "curl-wlan0", "curl-rmnet0", "curl-mptcp", "wget2")...)
	}
	switch {
	case c.Rounds < 0 || c.Rounds > 1000:
		return c, fmt.Errorf("--runs %d: must be within 1..1000", c.Rounds)
	case c.Rounds == 0 && f.quick:
		c.Rounds = 2
	case c.Rounds == 0:
		c.Rounds = 10
	}
	if f.against != "" {
		var err error
		if c.Against, err = linklab.HashFile(f.against); err != nil {
			return c, &linklab.HintError{Err: fmt.Errorf("--against: %w", err), Hint: "give the program of another build: its checkout's bin/mlget after make build"}
		}
	}
	if f.size != "" {
		n, err := linklab.ParseSize(f.size)
		if err != nil {
			return c, fmt.Errorf("--size: %w", err)
		}
		c.Size, c.LoopbackSize = n, n
	}
	if f.receiveBuffer != "" {
		n, err := linklab.ParseSize(f.receiveBuffer)
		if err != nil {
			return c, fmt.Errorf("--receive-buffer: %w", err)
		}
		c.ReceiveBuffer = n
	}
	if f.figure != "" && len(f.files) == 0 {
		return c, errors.New("--figure is of --files")
	}
	for i, name := range c.Files {
		if _, err := dataset.Parse(name); err != nil {
			return c, fmt.Errorf("--files: %w", err)
		}
		if slices.Contains(c.Files[:i], name) {
			return c, fmt.Errorf("--files: %s is named twice", name)
		}
	}
	for i, name := range names {
		t, err := parseTool(name, len(c.Files) > 0)
		if err != nil {
			return c, err
		}
		if slices.Contains(names[:i], name) {
			return c, fmt.Errorf("tool %q: named twice", name)
		}
		c.Tools = append(c.Tools, t)
	}
	return c, c.checkScenarios()
}

// orElse is the list that was given, or the default one.
func orElse(given []string, otherwise ...string) []string {
	if len(given) > 0 {
		return given
	}
	return otherwise
}

// checkScenarios refuses scenarios that a run would only find out about later.
func (c Config) checkScenarios() error {
	for i, name := range c.Scenarios {
		if slices.Contains(c.Scenarios[:i], name) {
			return fmt.Errorf("scenario %q: named twice", name)
		}
		if c.Processor && !slices.Contains(processorScenarios(), name) {
			return fmt.Errorf("--processor: its scenarios are %s", strings.Join(processorScenarios(), ", "))
		}
		if name == loopback {
			if c.Energy || len(c.Files) > 0 {
				return errors.New("the loopback device has no radio: it is not for --energy and --files")
			}
			continue
		}
		s, err := scenario.Load(name)
		if err != nil {
			return err
		}
		if c.Energy && !slices.ContainsFunc(s.Links, func(l scenario.Link) bool { return l.Power != "" }) {
			return fmt.Errorf("--energy: scenario %s names no power model", filepath.Base(name))
		}
		for _, t := range c.Tools {
			if _, ok := t.link(s.Links); !ok && t.Family == Curl && !t.Many {
				return fmt.Errorf("tool %q: scenario %s has no such link", t.Name, name)
			}
		}
	}
	return nil
}

// run does what the command is for.
func run(ctx context.Context, cmd *cobra.Command, c Config, f flags) (err error) {
	inv, usable, err := takeInventory(ctx, c.Tools, f.against)
	if err != nil {
		return err
	}
	c.Tools = usable
	server := linklab.ServerNginx
	h := c.header(inv, f)
	if nginx := linklab.Find("nginx"); nginx != "" {
		h.Server = version(ctx, "nginx", nginx)
	} else {
		server, h.Server = linklab.ServerBuiltin, "linklab's own"
		h.Notes = append(h.Notes, "nginx is not installed: the server is linklab's own.")
	}
	r, err := newRunner(c, inv.paths, server)
	if err != nil {
		return err
	}
	path := f.resume
	if path == "" {
		path = "bench-" + time.Now().Format("20060102-150405.000") + ".jsonl"
		if f.document != "" {
			path = filepath.Join(stateDir, path)
			if err := os.MkdirAll(stateDir, 0o755); err != nil {
				return err
			}
		}
	}
	journal, err := results.Open[Header, Result](path, h)
	if err != nil {
		return err
	}
	s := &Session{cfg: c, runner: r, journal: journal, out: cmd.ErrOrStderr()}
	defer func() { err = errors.Join(err, s.finish()) }()
	for _, n := range h.Notes {
		cmd.PrintErrln(n)
	}
	jobs := s.pending()
	if err := s.announce(jobs); err != nil {
		return err
	}
	if err := s.work(ctx, jobs); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		return &linklab.HintError{Err: err, Hint: "what is done is kept: the same command with --resume " + path + " goes on"}
	}
	if f.figure != "" {
		if err := writeFigure(h, journal.Results, f.figure); err != nil {
			return err
		}
	}
	return writeReport(h, journal.Results, cmd.OutOrStdout(), f.out)
}

// header describes what will be run.
func (c Config) header(inv inventory, f flags) Header {
	h := Header{
		Schema: schema, Build: inv.build, Options: c.Options, Machine: readMachine("/proc"),
		Versions: inv.versions, Notes: inv.notes, Command: f.commandLine(), Date: time.Now().UTC().Truncate(time.Second),
	}
	for _, t := range c.Tools {
		h.Tools = append(h.Tools, t.Name)
	}
	for _, name := range c.Scenarios {
		if _, err := scenario.Text(name); err == nil || name == loopback {
			continue
		}
		if s, err := scenario.Load(name); err == nil { // the flags were checked
			if h.Digests == nil {
				h.Digests = map[string]string{}
			}
			h.Digests[name] = s.Digest()
		}
	}
	return h
}

// commandLine is how to get such results again, without names of files.
func (f flags) commandLine() string {
	words := []string{"linklab bench"}
	add := func(given bool, format string, args ...any) {
		if given {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(f.energy, "--energy")
	add(f.processor, "--processor")
	add(f.against != "", "--against OTHER")
	add(len(f.files) > 0, "--files %s", strings.Join(f.files, ","))
	add(f.quick, "--quick")
	add(len(f.scenarios) > 0, "--scenarios %s", strings.Join(f.scenarios, ","))
	add(len(f.tools) > 0, "--tools %s", strings.Join(f.tools, ","))
	add(f.runs > 0, "--runs %d", f.runs)
	add(f.size != "", "--size %s", f.size)
	add(f.tls, "--tls")
	add(f.receiveBuffer != "", "--receive-buffer %s", f.receiveBuffer)
	add(true, "--seed %d", f.seed)
	return strings.Join(words, " ")
}
