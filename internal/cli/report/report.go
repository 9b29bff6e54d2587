// Package report is the command that makes tables and figures of runs.
package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/page"
	"github.com/mlget/mlget/internal/study"
)

// maxFaults is how many files that are no runs are named.
const maxFaults = 20

// reportOptions holds the flags of a report.
type reportOptions struct {
	output    string
	figures   []string
	title     string
	xlim      limitsFlag
	ylim      limitsFlag
	fontSize  float64
	ascii     bool
	modelFile string
}

func (o *reportOptions) addFlags(f *pflag.FlagSet) {
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`; its ending says what: "+strings.Join(page.Formats(), ", ")+"; DIR/ = an SVG for each figure")
	f.StringSliceVar(&o.figures, "figure", nil, "only these figures: "+strings.Join(page.Names(), ", "))
	f.StringVar(&o.title, "title", "", "title of the page, or of the figure")
	f.Var(&o.xlim, "xlim", "ends of time axes, `LOW:HIGH`, in s; of comparisons, ends of the values")
	f.Var(&o.ylim, "ylim", "ends of vertical axes, `LOW:HIGH`")
	f.Float64Var(&o.fontSize, "font-size", 12, "of figures in files of SVG, PDF and PNG, 4 to 20, in pixels; a figure is 340 wide")
	f.BoolVar(&o.ascii, "ascii", false, "draw the figures with characters, too")
	f.StringVar(&o.modelFile, "energy-model", "", "as for a download: models for records")
}

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [flags] RUN...",
		Short: "Make tables and figures of runs",
		Long: `report makes one thing of many runs: tables on standard output, or a file with
figures as well. A RUN is what --record or --report wrote, a sweep's results, or a directory of these.
Runs are put together by how they were made - algorithm, links, energy policy,
size, directory - and compared. Figures over time need records (docs/report.md).`,
		Example: `  mlget report run.jsonl -o run.html
  mlget report high-speed/ low-speed/ -o compared.html
  mlget report runs/ --figure throughput -o figures.svg
  mlget report runs/ --figure energy --title 'Energy, 250 MB' --xlim 0:80 -o energy.pdf
  mlget report sweep.jsonl -o sweep.html
  mlget report --ascii run.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("no run: name records, reports, results of sweeps, or directories of these")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runReport(cmd.Context(), &o, args, stdio) },
	}
	o.addFlags(cmd.Flags())
	cmd.Flags().SortFlags = false
	return cmd
}

func runReport(ctx context.Context, o *reportOptions, args []string, stdio console.IO) error {
	for _, name := range o.figures {
		if !slices.Contains(page.Names(), name) {
			return exit.Usagef("--figure: there is no %q; there are %s", name, strings.Join(page.Names(), ", "))
		}
	}
	if !(o.fontSize >= 4 && o.fontSize <= 20) {
		return exit.Usagef("--font-size: %v is not within 4 to 20", o.fontSize)
	}
	if o.output != "" && !o.panels() {
		if _, err := page.FormatOf(o.output); err != nil {
			return exit.Usagef("--output: %w", err)
		}
		if info, err := os.Stat(o.output); err == nil && study.Among(args, info) {
			return exit.Usagef("--output: %s is one of the runs: name another file", o.output)
		}
	}
	models, err := measure.Models(o.modelFile)
	if err != nil {
		return exit.FileError{Err: fmt.Errorf("--energy-model: %w", err)}
	}
	return reportRuns(ctx, o, args, models, stdio)
}

// reportRuns reads runs, writes what is wanted of them, and names the files that are
// none.
func reportRuns(ctx context.Context, o *reportOptions, names []string, models energy.Models, stdio console.IO) error {
	runs, faults := study.Read(ctx, names, models)
	if ctx.Err() != nil {
		return engine.ErrInterrupted
	}
	if len(runs) == 0 {
		return exit.FileError{Err: errors.Join(faults[:min(len(faults), 1)]...)}
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
			exit.Print(stdio.Err, fmt.Errorf("and %d more", len(s.Problems)-i), "")
			break
		}
		exit.Print(stdio.Err, errors.New(p), "")
	}
	if len(faults) > 0 || broken(runs) {
		return exit.PrintedError{Err: exit.FileError{Err: errors.New("not all of it could be read")}}
	}
	return nil // runs that failed are no fault of their report
}

func broken(runs []*study.Run) bool {
	return slices.ContainsFunc(runs, func(r *study.Run) bool { return r.Broken != "" })
}

// write writes the report to its file, or to a terminal.
func (o *reportOptions) write(s *study.Study, out io.Writer) error {
	if o.output == "" || o.ascii {
		if err := page.WriteText(out, s, Columns(), o.ascii, o.page()); err != nil {
			return exit.FileError{Err: err}
		}
	}
	switch {
	case o.output == "":
		return nil
	case o.panels():
		return writePanels(o.output, s, o.page())
	}
	return WritePage(o.output, s, o.page())
}

// page returns the figures' options by the flags.
func (o *reportOptions) page() page.Options {
	return page.Options{Figures: o.figures, Title: o.title, XLimits: o.xlim.limits, YLimits: o.ylim.limits, FontSize: o.fontSize}
}

// panels says whether each figure is to have a file of its own.
func (o *reportOptions) panels() bool {
	return o.output != "" && os.IsPathSeparator(o.output[len(o.output)-1])
}

// writePanels writes a file for each figure into a directory, which it makes.
func writePanels(dir string, s *study.Study, o page.Options) error {
	panels, err := page.Panels(s, o)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err != nil {
		return exit.FileError{Err: err}
	}
	for _, p := range panels {
		write := func(out io.Writer) error {
			_, err := out.Write(p.SVG)
			return err
		}
		if err := console.Create(filepath.Join(dir, p.Name), write); err != nil {
			return err
		}
	}
	return nil
}

// limitsFlag is LOW:HIGH.
type limitsFlag struct{ limits *page.Limits }

// String is how it is shown.
func (l *limitsFlag) String() string {
	if l.limits == nil {
		return ""
	}
	return fmt.Sprintf("%g:%g", l.limits.Low, l.limits.High)
}

// Type is the name of its value in help.
func (*limitsFlag) Type() string { return "LOW:HIGH" }

// Set reads it.
func (l *limitsFlag) Set(text string) error {
	low, high, ok := strings.Cut(text, ":")
	a, errLow := strconv.ParseFloat(low, 64)
	b, errHigh := strconv.ParseFloat(high, 64)
	if !ok || errLow != nil || errHigh != nil || !(a < b) || math.Abs(a) > 1e9 || math.Abs(b) > 1e9 {
		return fmt.Errorf("%q is not two numbers LOW:HIGH, the first less than the second", text)
	}
	l.limits = &page.Limits{Low: a, High: b}
	return nil
}

// WritePage writes a report to a file with a known ending.
func WritePage(name string, s *study.Study, o page.Options) error {
	format, err := page.FormatOf(name)
	if err != nil {
		return exit.FileError{Err: err}
	}
	return console.Create(name, func(out io.Writer) error { return page.Write(out, s, format, o) })
}

// Columns is how wide the terminal is, as far as the environment knows.
func Columns() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return 80
}
