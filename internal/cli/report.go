package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/page"
	"github.com/mlget/mlget/internal/study"
)

// maxFaults is how many files that are no runs are named.
const maxFaults = 20

// reportOptions is what the flags of a report say.
type reportOptions struct {
	output    string
	figures   []string
	ascii     bool
	modelFile string
}

func (o *reportOptions) addFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`; its ending says what: "+strings.Join(page.Formats(), ", "))
	f.StringSliceVar(&o.figures, "figure", nil, "only these figures: "+strings.Join(page.Names(), ", "))
	f.BoolVar(&o.ascii, "ascii", false, "draw the figures with characters, too")
	f.StringVar(&o.modelFile, "energy-model", "", "as for a download: for what is modelled of records")
}

func newReportCommand(stdio IO) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [flags] RUN...",
		Short: "Make tables and figures of runs",
		Long: `report makes one thing of many runs: tables on standard output, or a file with
figures as well. A RUN is what --record or --report wrote, or a directory of these.
Runs are put together by how they were made - algorithm, links, energy policy,
size, directory - and compared. Figures over time need records (docs/report.md).`,
		Example: `  mlget report run.jsonl -o run.html
  mlget report high-speed/ low-speed/ -o compared.html
  mlget report runs/ --figure throughput -o figures.svg
  mlget report --ascii run.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no run: name records, reports, or directories of these")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), &o, args, stdio) },
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

func runReport(ctx context.Context, o *reportOptions, args []string, stdio IO) error {
	for _, name := range o.figures {
		if !slices.Contains(page.Names(), name) {
			return usagef("--figure: there is no %q; there are %s", name, strings.Join(page.Names(), ", "))
		}
	}
	if o.output != "" {
		if _, err := page.FormatOf(o.output); err != nil {
			return usagef("--output: %w", err)
		}
		if info, err := os.Stat(o.output); err == nil && study.Among(args, info) {
			return usagef("--output: %s is one of the runs: name another file", o.output)
		}
	}
	models, err := readModels(o.modelFile)
	if err != nil {
		return fileError{fmt.Errorf("--energy-model: %w", err)}
	}
	return reportRuns(ctx, o, args, models, stdio)
}

// reportRuns reads runs, writes what is wanted of them, and names the files that are
// none.
func reportRuns(ctx context.Context, o *reportOptions, names []string, models energy.Models, stdio IO) error {
	runs, faults := study.Read(ctx, names, models)
	if ctx.Err() != nil {
		return engine.ErrInterrupted
	}
	if len(runs) == 0 {
		return fileError{errors.Join(faults[:min(len(faults), 1)]...)}
	}
	s := study.New(runs, faults)
	if err := o.write(s, stdio.Out); err != nil {
		return err
	}
	if len(s.Problems) == 0 {
		return nil
	}
	for i, p := range s.Problems {
		if i == maxFaults {
			printError(stdio.Err, fmt.Errorf("and %d more", len(s.Problems)-i), "")
			break
		}
		printError(stdio.Err, errors.New(p), "")
	}
	if len(faults) > 0 || broken(runs) {
		return saidError{fileError{errors.New("not all of it could be read")}}
	}
	return nil // runs that failed are no fault of their report
}

func broken(runs []*study.Run) bool {
	return slices.ContainsFunc(runs, func(r *study.Run) bool { return r.Broken != "" })
}

// write writes the report to its file, or to a terminal.
func (o *reportOptions) write(s *study.Study, out io.Writer) error {
	if o.output == "" || o.ascii {
		if err := page.WriteText(out, s, columns(), o.ascii, o.figures); err != nil {
			return fileError{err}
		}
	}
	if o.output == "" {
		return nil
	}
	return writePage(o.output, s, o.figures)
}

// writePage writes a report to a file, whose ending is one that there is.
func writePage(name string, s *study.Study, figures []string) error {
	format, err := page.FormatOf(name)
	if err != nil {
		return fileError{err}
	}
	return create(name, func(out io.Writer) error { return page.Write(out, s, format, figures) })
}

// columns is how wide the terminal is, as far as the environment knows.
func columns() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 80
}
