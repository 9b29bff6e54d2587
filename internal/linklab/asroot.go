package linklab

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
)

// streams are those of the process that a command is run for.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// AsRoot carries out a command that starts labs: in this process for root, and
// for anybody else in a copy of it that is the root of a user namespace; then a
// StatusError tells how that ended. args are the whole command line, for the
// copy. The context that do is given ends with the signals that end a program.
func AsRoot(cmd *cobra.Command, args []string, do func(context.Context) error) error {
	elsewhere, status, err := elevate(args, streams{cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()})
	if err != nil {
		return err
	}
	if elsewhere {
		return &StatusError{Status: status}
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), wanted(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)...)
	defer stop()
	return do(ctx)
}

// wanted are the signals without a SIGHUP that is being ignored: nohup means it.
func wanted(signals ...os.Signal) []os.Signal {
	return slices.DeleteFunc(signals, func(s os.Signal) bool { return s == syscall.SIGHUP && signal.Ignored(s) })
}
