// Package cli is mlget's command line: commands and flags into configuration,
// wiring, and errors into messages and exit codes. It does nothing else.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/term"
)

// IO is what the program reads from and writes to.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the program and returns its exit code. The first interrupt ends it
// in order, with the state saved, and so does a terminal that is closed; the second
// interrupt at once, unless it belongs to the first.
func Main(args []string, stdio IO) int {
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
	go heed(signals, func() { cancel(engine.ErrInterrupted) }, func() { os.Exit(exitInterrupted) })

	root := newRootCommand(stdio)
	root.SetArgs(args)
	help := &mindful{Writer: stdio.Out}
	root.SetOut(help)
	err := root.ExecuteContext(ctx)
	if err == nil && help.err != nil {
		err = fileError{help.err}
	}
	return exit(stdio.Err, err)
}

// oneWish is how long further signals after the first mean the same: timeout(1) signals
// its child, and at once the group that the child is in.
const oneWish = 500 * time.Millisecond

// heed ends in order with the first signal, and at once with another one that comes
// later, until signals is closed.
func heed(signals <-chan os.Signal, inOrder, atOnce func()) {
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

// mindful keeps the first error of its writes, for those who do not look: cobra's help.
type mindful struct {
	io.Writer
	err error
}

func (m *mindful) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	if m.err == nil {
		m.err = err
	}
	return n, err
}

// exit prints an error as one line, and a hint where there is one.
func exit(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	code, hint := classify(err)
	var said saidError
	// A reader that has seen enough, as in mlget report | head, need not be told.
	if !errors.As(err, &said) && !errors.Is(err, syscall.EPIPE) {
		printError(w, err, hint)
	}
	return code
}

func printError(w io.Writer, err error, hint string) {
	text := "mlget: " + term.Printable(err.Error()) + "\n"
	if hint != "" {
		text += "mlget: hint: " + hint + "\n"
	}
	_, _ = io.WriteString(w, text) // nobody is left to be told
}

func newRootCommand(stdio IO) *cobra.Command {
	started := time.Now()
	var o getOptions
	cmd := &cobra.Command{
		Use:   "mlget [flags] URL...",
		Short: "Download over several network links at once",
		Long: `mlget downloads over several network links at once - Wi-Fi and LTE, two
uplinks - so that all of them finish at the same moment, and continues by itself
what was interrupted.`,
		Example: `  mlget https://example.org/image.iso              # no cellular data while there is Wi-Fi
  mlget --links all https://example.org/image.iso  # over metered links too
  mlget --links wlan0,rmnet0 https://example.org/image.iso
  mlget -o - https://example.org/src.tar.gz | tar xz`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.version {
				return printVersion(stdio.Out, thisBuild(), false)
			}
			if err := misread(cmd, args); err != nil {
				return err
			}
			return runGet(cmd.Context(), &o, args, stdio, started)
		},
	}
	cmd.SetIn(stdio.In)
	cmd.SetOut(stdio.Out)
	cmd.SetErr(stdio.Err)
	o.addFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	cmd.SetFlagErrorFunc(flagError)
	// Not by a template: text/template would cost the phone's binary half a megabyte.
	usage := cmd.UsageFunc()
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		if err := usage(cmd); err != nil {
			return err
		}
		_, err := io.WriteString(cmd.OutOrStderr(), exitHelp)
		return err
	})
	cmd.AddCommand(newLinksCommand(stdio), newPowerCommand(stdio), newSimulateCommand(stdio), newReportCommand(stdio),
		newBenchCommand(stdio), newManCommand(stdio), newDoctorCommand(stdio), newVersionCommand(stdio))
	cmd.SetHelpCommand(newHelpCommand())
	addCompletions(cmd)
	cmd.InitDefaultCompletionCmd()
	refuseOthers(cmd, "completion")
	cmd.ValidArgsFunction = cobra.NoFileCompletions // a URL
	return cmd
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unexpected argument %q", args[0])
	}
	return nil
}
