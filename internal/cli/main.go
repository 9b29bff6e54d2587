// Package cli is mlget's command line: commands and flags into configuration,
// wiring, and errors into messages and exit codes. It does nothing else.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

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

// IO is what the program reads from and writes to.
type IO = console.IO

// Main runs the program and returns its exit code. The first interrupt ends it
// in order, with the state saved, and so does a terminal that is closed; the second
// interrupt at once, unless it belongs to the first.
func Main(args []string, stdio console.IO) int {
	signal.Ignore(syscall.SIGPIPE) // a reader that goes away is an error like any other
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	defer close(signals)
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		ends = append(ends, syscall.SIGHUP)
	}
	signal.Notify(signals, ends...)
	defer signal.Stop(signals) // before it is closed, or a late signal would be sent on a closed channel
	go handleSignals(signals, func() { cancel(engine.ErrInterrupted) }, func() { os.Exit(exit.Interrupted) })

	root := newRootCommand(stdio)
	args, err := translate(root, args)
	if err != nil {
		return exit.Tell(stdio.Err, err)
	}
	root.SetArgs(args)
	help := &errWriter{Writer: stdio.Out}
	root.SetOut(help)
	err = root.ExecuteContext(ctx)
	if err == nil && help.err != nil {
		err = exit.FileError{Err: help.err}
	}
	return exit.Tell(stdio.Err, err)
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
	cmd := &cobra.Command{
		Use:   "mlget [flags] URL...",
		Short: "Download over several network links at once",
		Long: `mlget downloads over several network links at once - Wi-Fi and LTE, two
uplinks - so that all of them finish at the same moment, and continues by itself
what was interrupted.`,
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
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(flagError)
	cmd.SetUsageFunc(usage)
	cmd.AddCommand(links.NewCommand(stdio), power.NewCommand(stdio), simulate.NewCommand(stdio), report.NewCommand(stdio),
		proxy.NewCommand(stdio), bench.NewCommand(stdio), newManCommand(stdio), doctor.NewCommand(stdio), daemon.NewCommand(stdio), newVersionCommand(stdio))
	cmd.SetHelpCommand(newHelpCommand())
	addCompletions(cmd)
	cmd.InitDefaultCompletionCmd()
	refuseOthers(cmd, "completion")
	cmd.ValidArgsFunction = cobra.NoFileCompletions // a URL
	return cmd
}
