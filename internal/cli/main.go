// Package cli is mlget's command line: commands and flags into configuration,
// wiring, and errors into messages and exit codes. It does nothing else.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/aria2c"
	"github.com/mlget/mlget/internal/cli/bench"
	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/daemon"
	"github.com/mlget/mlget/internal/cli/doctor"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/cli/habits"
	"github.com/mlget/mlget/internal/cli/links"
	"github.com/mlget/mlget/internal/cli/power"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/cli/proxy"
	"github.com/mlget/mlget/internal/cli/report"
	"github.com/mlget/mlget/internal/cli/simulate"
	"github.com/mlget/mlget/internal/engine"
)

// IO holds the streams that the program reads from and writes to.
type IO = console.IO

// Main runs the program and returns its exit code. The first interrupt ends it
// in order, with the state saved, and so does a terminal that is closed; the second
// interrupt at once, unless it belongs to the first.
func Main(args []string, stdio console.IO) int {
	ctx, end := interruptible(rereads(args))
	defer end()
	return exit.Tell(stdio.Err, execute(ctx, args, stdio, translate))
}

// MainAs is Main under the name by which the program was called: as aria2c it has that
// program's options and exit codes.
func MainAs(name string, args []string, stdio console.IO) int {
	if name != "aria2c" {
		return Main(args, stdio)
	}
	ctx, end := interruptible(false)
	defer end()
	c, err := aria2c.Parse(args)
	if c.Version {
		_, err = fmt.Fprintf(stdio.Out, "aria2 version %s\nmlget %s, called as aria2c\n", aria2c.Version, program.Version())
	}
	if c.Help {
		_, err = io.WriteString(stdio.Out, aria2c.Usage())
	}
	for _, words := range c.Attempts {
		asTheyAre := func(_ *cobra.Command, args []string) ([]string, error) { return args, nil }
		if err = execute(ctx, words, stdio, asTheyAre); err == nil || ctx.Err() != nil {
			break
		}
	}
	exit.Tell(stdio.Err, err)
	if err == nil {
		return aria2c.OK
	}
	code, _ := aria2c.Code(err)
	return code
}

// rereads says whether SIGHUP is for the command itself: to read its file of options again.
func rereads(args []string) bool {
	return len(args) > 0 && args[0] == proxy.Name && slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--config") || strings.HasPrefix(a, "-K")
	})
}

// interruptible is a context that the first signal ends, until end is called; of SIGHUP it
// takes no notice where the command rereads.
func interruptible(rereads bool) (ctx context.Context, end func()) {
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away is an error like any other
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !rereads && !signal.Ignored(syscall.SIGHUP) { // nohup means it
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(signals, ends...)
	go handleSignals(signals, func() { cancel(engine.ErrInterrupted) }, func() { os.Exit(exit.Interrupted) })
	return ctx, func() {
		signal.Stop(signals) // before it is closed, or a late signal would be sent on a closed channel
		close(signals)
		cancel(nil)
	}
}

// execute runs one command line, which words makes of args.
func execute(ctx context.Context, args []string, stdio console.IO, words func(*cobra.Command, []string) ([]string, error)) error {
	root := newRootCommand(stdio)
	args, err := words(root, args)
	if err != nil {
		return err
	}
	root.SetArgs(args)
	help := &errWriter{Writer: stdio.Out}
	root.SetOut(help)
	err = root.ExecuteContext(ctx)
	if err == nil && help.err != nil {
		err = exit.FileError{Err: help.err}
	}
	return err
}

// translate gives a download's command line in mlget's own words; commands have no
// habits of others.
func translate(root *cobra.Command, args []string) ([]string, error) {
	if cmd, _, err := root.Find(args); err != nil || cmd != root {
		return args, nil //nolint:nilerr // cobra will find it again
	}
	return habits.Translate(args, root.Flags())
}

// oneWish is how long further signals after the first mean the same: timeout(1) signals
// its child, and at once the group that the child is in.
const oneWish = 500 * time.Millisecond

// handleSignals ends in order with the first signal, and at once with another one that comes
// later, until signals is closed.
func handleSignals(signals <-chan os.Signal, inOrder, atOnce func()) {
	if _, ok := <-signals; !ok {
		return
	}
	first := time.Now()
	inOrder()
	for s := range signals {
		if s != syscall.SIGHUP && time.Since(first) > oneWish { // a terminal that is closed says so twice
			atOnce()
		}
	}
}

// errWriter keeps the first error of its writes, which cobra does not look at.
type errWriter struct {
	io.Writer
	err error
}

func (m *errWriter) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	if m.err == nil {
		m.err = err
	}
	return n, err
}

func newRootCommand(stdio console.IO) *cobra.Command {
	started := time.Now()
	var o get.Options
	var install string
	cmd := &cobra.Command{
		Use:   "mlget [flags] URL...",
		Short: "Download over several network links at once",
		Long: `mlget downloads over several network links at once - Wi-Fi and LTE, two
uplinks - so that all of them finish at the same moment. The same command
continues an interrupted download.`,
		Example: `  mlget https://example.org/image.iso      # free links only, if there are any
  mlget -l all https://example.org/image.iso       # metered links, too
  mlget -l wlan0,rmnet0 https://example.org/image.iso
  mlget -o - https://example.org/src.tar.gz | tar xz`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Version {
				return printVersion(stdio.Out, program.This(), false)
			}
			if install != "" {
				return installAria2c(install, stdio)
			}
			if err := misread(cmd, args); err != nil {
				return err
			}
			urls, err := o.ReadSettings(cmd.Flags(), stdio.In)
			if err != nil {
				return err
			}
			return get.Run(cmd.Context(), &o, append(args, urls...), stdio, started)
		},
	}
	cmd.SetIn(stdio.In)
	cmd.SetOut(stdio.Out)
	cmd.SetErr(stdio.Err)
	o.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&install, "install-aria2c", "", "make a link in `DIR` that takes aria2c's options")
	cmd.Flags().Lookup("install-aria2c").Hidden = true // see docs/daemon.md
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetUsageFunc(usage)
	cmd.AddCommand(links.NewCommand(stdio), power.NewCommand(stdio), simulate.NewCommand(stdio), report.NewCommand(stdio),
		proxy.NewCommand(stdio), daemon.NewCommand(stdio), bench.NewCommand(stdio), newManCommand(stdio), doctor.NewCommand(stdio), newVersionCommand(stdio))
	cmd.AddCommand(daemon.NewClientCommands(stdio)...)
	cmd.SetHelpCommand(newHelpCommand())
	addCompletions(cmd)
	cmd.InitDefaultCompletionCmd()
	refuseOthers(cmd, "completion")
	cmd.ValidArgsFunction = cobra.NoFileCompletions // a URL
	return cmd
}
