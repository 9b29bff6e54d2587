package linklab

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/units"
)

// Statuses of the command itself, as env and timeout have them; all others are
// those of the command that it runs.
const (
	statusFailed        = 125
	statusNotExecutable = 126
	statusNotFound      = 127
)

// Main runs the command line (without the program's name) and returns the
// exit status. more are commands besides this package's own; the error of one
// of them may bear a status as a StatusError.
func Main(args []string, in io.Reader, out, errOut io.Writer, more ...*cobra.Command) int {
	status := 0
	root := newRoot(args, &status)
	root.AddCommand(more...)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.Execute()
	if err == nil {
		return status
	}
	var said *StatusError
	if errors.As(err, &said) {
		return said.Status
	}
	say := func(text string) {
		_, _ = fmt.Fprintln(errOut, "linklab: "+strings.ReplaceAll(text, "\n", "; ")) // nowhere to report it
	}
	say(err.Error())
	var hint *HintError
	if errors.As(err, &hint) && hint.Hint != "" {
		say("hint: " + hint.Hint)
	}
	if status == 0 {
		status = statusFailed
	}
	return status
}

func newRoot(args []string, status *int) *cobra.Command {
	root := &cobra.Command{
		Use:           "linklab",
		Short:         "Emulated network links for tests and benchmarks",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; linklab --help lists them", args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &HintError{Err: err, Hint: cmd.CommandPath() + " --help lists what there is"}
	})
	root.AddCommand(newRun(args, status), newScenarios(), newBound())
	return root
}

// linkFlags choose what is played.
type linkFlags struct {
	scenario string
	links    []string
	seed     uint64
}

func (f *linkFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.scenario, "scenario", "", "built-in scenario or file: `NAME` (default high-speed)")
	cmd.Flags().StringArrayVar(&f.links, "link", nil, "link instead of a scenario, repeatable: `NAME,key=value,...`")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "random seed")
}

// load makes the scenario that the flags ask for.
func (f *linkFlags) load() (scenario.Scenario, error) {
	switch {
	case len(f.links) > 0 && f.scenario != "":
		return scenario.Scenario{}, errors.New("--scenario and --link exclude each other")
	case len(f.links) == 0:
		name := f.scenario
		if name == "" {
			name = "high-speed"
		}
		return scenario.Load(name)
	}
	s := scenario.Scenario{Name: "command line"}
	for _, text := range f.links {
		l, err := scenario.ParseLink(text, scenario.Dir("."))
		if err != nil {
			return s, err
		}
		s.Links = append(s.Links, l)
	}
	return s.Complete()
}

const runHelp = `Make two network namespaces joined by emulated links, start a web server in
one, run COMMAND in the other, and exit with its status. Without root this
happens in a user namespace, where the kernel allows one.

The keys of a link (of --link, and of a link line in a scenario file):
  down    rate from server to client, Mbit/s of IP packets
  up      rate from client to server, Mbit/s (max(10, down/4))
  rtt     round-trip time, ms (0)
  queue   drop-tail queue of each direction, in ms of the current rate
          (max(100, 1.5 rtt))
  loss    percent of packets lost at random, each direction (0)
  ramp    s in which the rate builds up after 1 s of silence (0)
  ramp0   fraction of the rate at which it begins to (0.25)
  vary    0..1: the rate wanders within down*(1±vary), with mean down (0)
  trace   file in mahimahi's format that gives the rate its shape
  power   model of the radio: wifi-s7-mean, lte, nr, ... (none)
  perconn mW that each open connection adds while bytes cross (0)

A scenario file holds such lines and events, counted from the first packet
that COMMAND sends over any link:
  link wlan0,down=82,rtt=16
  at 6s wlan0 down           also: up, rate MBIT/S, loss PERCENT, rtt MS,
                             carrier off, carrier on, gone, back
down is silence only: a phone that leaves the range of its network is not told
at once. Say carrier off as well, when it is to be. gone takes the device away,
back makes it anew with other addresses; gone at 0s: it is not there yet.

COMMAND finds in its environment LINKLAB_URL (over IPv4) and LINKLAB_URL6,
LINKLAB_SHA256 and LINKLAB_SIZE (unless --serve), LINKLAB_LINKS (names, comma
separated), and with --tls LINKLAB_URL_TLS and LINKLAB_CA. Proxies are taken
out of it. With --files, LINKLAB_URL is a directory with an index page, and
there are LINKLAB_FILES, their number, LINKLAB_LIST, a file of their URLs (with
--tls also LINKLAB_LIST_TLS), and LINKLAB_SHA256SUMS, a file for sha256sum -c.

Where a link has a power model, the energy of all radios is printed to standard
error at the end, and COMMAND finds LINKLAB_SYSFS: a directory like the /sys of a
phone whose battery they draw from (mlget --sysfs $LINKLAB_SYSFS --power battery).
Its files show the mean since they last changed. LINKLAB_ENERGY_MODEL is a file
that describes the radios (mlget --energy-model $LINKLAB_ENERGY_MODEL).

Exit status: COMMAND's, or 128 and the number of the signal that ended it;
125 if linklab fails, 126 if COMMAND cannot be run, 127 if it is not found.`

func newRun(args []string, status *int) *cobra.Command {
	var (
		f    linkFlags
		c    Config
		e    energyOptions
		size = "250MB"
		kind string
		set  string
		rmem string
	)
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARGUMENT...]",
		Short: "Run a command with emulated links",
		Long:  runHelp,
		Args: func(_ *cobra.Command, command []string) error {
			if len(command) == 0 {
				return errors.New("no COMMAND: linklab run [flags] -- COMMAND [ARGUMENT...]")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, command []string) error {
			var err error
			if c.Scenario, err = f.load(); err != nil {
				return err
			}
			c.Seed = f.seed
			if err := e.check(cmd.Flags().Changed("tail"), c.Scenario); err != nil {
				return err
			}
			switch {
			case set != "":
				s, err := dataset.Parse(set)
				if err != nil {
					return fmt.Errorf("--files: %w", err)
				}
				c.Files = &s
			case c.Dir == "":
				if c.Size, err = ParseSize(size); err != nil {
					return err
				}
			}
			if rmem != "" {
				if c.ReceiveBuffer, err = ParseSize(rmem); err != nil {
					return fmt.Errorf("--receive-buffer: %w", err)
				}
			}
			switch kind {
			case "builtin":
			case "nginx":
				c.Server = ServerNginx
			default:
				return fmt.Errorf("--server %s: builtin or nginx", kind)
			}
			s := streams{in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
			*status, err = run(c, e, command, args, s)
			return err
		},
	}
	cmd.Flags().SetInterspersed(false) // COMMAND's flags are its own
	f.add(cmd)
	cmd.Flags().StringVar(&c.Dir, "serve", "", "serve the files in `DIR`")
	cmd.Flags().StringVar(&size, "size", size, "serve a body of `SIZE` bytes (K, M, G: 1024; KB, MB, GB: 1000)")
	cmd.Flags().StringVar(&set, "files", "", "serve a `SET` of files: "+strings.Join(dataset.Names(), ", ")+",\nSET/N for the first N of them, SET+SET for both")
	cmd.Flags().StringVar(&kind, "server", "builtin", "web server: `builtin` or nginx")
	cmd.Flags().BoolVar(&c.TLS, "tls", false, "serve https as well")
	cmd.Flags().BoolVar(&c.SourceRules, "source-rules", false, "route by source address, for programs that bind to one")
	cmd.Flags().IntVar(&c.RPFilter, "rp-filter", 0, "rp_filter of the devices: 0, 1 or 2")
	cmd.Flags().StringVar(&rmem, "receive-buffer", "", "largest receive buffer of COMMAND's connections: `SIZE` in bytes, as of an old\nphone (default enough for every link)")
	cmd.MarkFlagsMutuallyExclusive("serve", "size", "files")
	e.add(cmd, &c)
	return cmd
}

func newScenarios() *cobra.Command {
	return &cobra.Command{
		Use:   "scenarios",
		Short: "List the built-in scenarios with their numbers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for i, name := range slices.Concat(scenario.Names(), scenario.FilesNames(), scenario.ProcessorNames()) {
				s, err := scenario.Load(name)
				if err != nil {
					return err
				}
				if i > 0 {
					cmd.Println()
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, s.About); err != nil {
					return err
				}
				for _, l := range s.Links {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "  link %s\n", l); err != nil {
						return err
					}
				}
				for _, e := range s.Events {
					if _, err := fmt.Fprintf(cmd.OutOrStdout(), "  at %v %s\n", e.At, e); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

func newBound() *cobra.Command {
	var (
		f    linkFlags
		size = "250MB"
		tls  bool
	)
	cmd := &cobra.Command{
		Use:   "bound",
		Short: "Print the least time in s in which the links could carry a body",
		Long: `Print the fluid bound: the least time, in seconds from the first packet, in
which the links of a scenario together could carry a body of that size, after
2 round trips each (3 with TLS), with 0.965 of their rates being payload.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := f.load()
			if err != nil {
				return err
			}
			n, err := ParseSize(size)
			if err != nil {
				return err
			}
			t, err := scenario.Bound(s, f.seed, n, tls)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%.3f\n", t.Seconds())
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&size, "size", size, "size of the body, `SIZE` in bytes (K, M, G: 1024; KB, MB, GB: 1000)")
	cmd.Flags().BoolVar(&tls, "tls", tls, "count TLS's handshake")
	return cmd
}

// ParseSize reads a size as mlget's command line does (100, 1.5M, 250MB), but none
// of 0, and none above 1 PiB, which no laboratory serves.
func ParseSize(text string) (int64, error) {
	n, err := units.ParseSize(text)
	if err == nil && (n < 1 || n > 1<<50) {
		err = fmt.Errorf("size %q: must be within 1 byte to 1024 T", text)
	}
	return n, err
}
