// Package power is the command that shows what power can be measured with.
package power

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/power"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/term"
)

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	var o measure.Options
	var watch, asJSON bool
	var test stressOptions
	cmd := &cobra.Command{
		Use:   "power [flags] [-- MLGET FLAGS...]",
		Short: "Show which power sources can be read",
		Long: `Show what power can be measured with on this machine, and why not.

--stress URL measures what the device can draw: at rest, with each link saturated
by downloads of URL, with all links, with the processor at work, and with all of
it. URL should be a large file, and the screen as bright as it can be if that is
to count. What follows -- are flags of the downloads.`,
		Example: `  mlget power
  mlget power --watch --power-interval 100ms
  mlget power --stress https://example.org/1GB.bin --links all`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at >= 0 && test.url != "" {
				test.extra, args = args[at:], args[:at]
			}
			return flags.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			var bus event.Bus
			cfg, err := o.Config(&bus, time.Now())
			switch {
			case err != nil:
				return err
			case watch && test.url != "":
				return exit.Usagef("--watch and --stress exclude each other")
			case test.url != "":
				test.asJSON = asJSON
				return stressPower(cmd.Context(), cfg, &test, stdio)
			case watch:
				return watchPower(cmd.Context(), cfg, asJSON, stdio)
			}
			return surveyPower(cmd.Context(), cfg, asJSON, stdio.Out)
		},
	}
	o.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&watch, "watch", false, "print readings until interrupted")
	cmd.Flags().StringVar(&test.url, "stress", "", "measure power under load: downloads of `URL`, processor")
	cmd.Flags().StringSliceVarP(&test.links, "links", "l", []string{link.Auto}, "links of the stress test, as for a download")
	flags.DurationVar(cmd.Flags(), &test.phase, "phase", "", 20*time.Second, "how long each load of the stress test lasts")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON; with --watch, JSON lines as --record writes them")
	cmd.Flags().SortFlags = false
	return cmd
}

// surveyPower prints what each source can tell.
func surveyPower(ctx context.Context, cfg power.Config, asJSON bool, out io.Writer) error {
	findings := power.Survey(ctx, cfg)
	if asJSON {
		return console.WriteJSON(out, findings)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	var hints strings.Builder
	_, _ = fmt.Fprintln(w, "source\twatts\twhat") // Flush tells
	for _, f := range findings {
		watts, what := "-", f.Detail
		if f.Watts != nil {
			watts = fmt.Sprintf("%.3f", *f.Watts)
		}
		if f.External {
			what += "; on external power: not what the device draws"
		}
		if f.Problem != "" {
			what = strings.TrimPrefix(what+"; "+f.Problem, "; ")
		}
		if f.Chosen {
			what += " (auto takes this)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", f.Source, watts, term.Printable(what))
		if f.Hint != "" {
			hints.WriteString("hint: " + f.Source + ": " + f.Hint + "\n")
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, hints.String())
	return err
}

// watchPower prints each reading, until ctx ends or standard output is closed.
func watchPower(ctx context.Context, cfg power.Config, asJSON bool, stdio console.IO) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sub := cfg.Bus.Subscribe()
	sampler := power.Start(cfg)
	go func() {
		sampler.Wait(ctx)
		sampler.Stop()
		cfg.Bus.Close()
	}()
	show := func(e event.Event) error { return showPower(e, stdio) }
	if asJSON {
		w := record.NewWriter(stdio.Out)
		show = func(e event.Event) error { return errors.Join(w.Write(e), w.Flush()) }
	}
	var failure error
	for e := range sub.All() {
		if failure == nil {
			failure = show(e)
		}
		if none, ok := e.(event.PowerSource); ok && none.Source == "" && failure == nil {
			failure = fmt.Errorf("%w: %s", exit.ErrNoPower, none.Unavailable)
		}
		if failure != nil {
			cancel()
		}
	}
	return failure
}

// showPower prints what an event tells, as a line.
func showPower(e event.Event, stdio console.IO) (err error) {
	switch e := e.(type) {
	case event.PowerSource:
		if e.Unavailable == "" {
			_, err = fmt.Fprintf(stdio.Out, "%s: %s, every %v\n", e.Source, term.Printable(e.Detail), e.Interval)
		}
	case event.Notice:
		_, err = fmt.Fprintln(stdio.Err, "mlget: "+term.Printable(e.Text))
	case event.Power:
		line := fmt.Sprintf("%9.2f s  %8.3f W", e.At.Seconds(), e.Watts)
		if e.Counter && e.Over == 0 {
			return nil // it has no watts
		}
		if e.Counter {
			line += fmt.Sprintf("  %10.3f J", e.Joules)
		}
		if e.External {
			line += "  on external power: not what the device draws"
		}
		_, err = fmt.Fprintln(stdio.Out, line)
	}
	return err
}
