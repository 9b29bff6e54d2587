package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/rewrite"
)

const help = `Test mlget against faults of links and servers, and print a table of what was
tried and what passed. A cell is one combination of fault, place in the download,
protocol and number of links; each has a laboratory of its own.

A cell has passed if its run ended with the right bytes, or with a clear error
and the right exit code; within its limits; with nothing left open; without a
wrong byte under the final name; and if, after an error, a second run without
the fault finished the file.

mlget is looked for beside linklab, then in $PATH. Exit status 1: a cell failed.`

// flags are the command's.
type flags struct {
	seed  uint64
	cells int
	jobs  int
	only  []string
	list  bool
	mlget string
	keep  string
	page  string
	out   string
}

// Command is `linklab faults`. args are the whole command line, for a copy
// of this process where the user is not root.
func Command(args []string) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "Test mlget against faults of links and servers",
		Long:  help,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cells, err := f.choose()
			if err != nil {
				return err
			}
			if f.list {
				for _, c := range cells {
					if _, err := fmt.Fprintln(cmd.OutOrStdout(), c); err != nil {
						return err
					}
				}
				return nil
			}
			if err := errors.Join(linklab.CheckOut(f.out), linklab.CheckOut(f.page)); err != nil {
				return fmt.Errorf("--out, --page: %w", err)
			}
			return linklab.AsRoot(cmd, args, func(ctx context.Context) error { return f.run(ctx, cmd, cells) })
		},
	}
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "random seed of the choice and order of cells, and of their links")
	cmd.Flags().IntVar(&f.cells, "cells", 0, "number of cells chosen at random, each kind of fault at least once (0: all)")
	cmd.Flags().IntVar(&f.jobs, "jobs", 8, "cells run at the same time")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "run cells whose names contain a part of `LIST`; * matches anything")
	cmd.Flags().BoolVar(&f.list, "list", false, "print the names of the cells and exit")
	cmd.Flags().StringVar(&f.mlget, "mlget", "", "mlget `PROGRAM` to test (default: beside linklab, or in $PATH)")
	cmd.Flags().StringVar(&f.keep, "keep", "", "keep the logs and reports of failed cells in `DIR`")
	cmd.Flags().StringVar(&f.out, "out", "", "write the table of cells to `FILE` as well")
	cmd.Flags().StringVar(&f.page, "page", "", "write the page to `FILE`: one row for each group of faults")
	return cmd
}

// choose is the cells that the flags ask for, in the order in which they are run.
func (f flags) choose() ([]Cell, error) {
	all := Matrix()
	if len(f.only) > 0 {
		all = Matching(all, f.only)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--only %s: there is no such cell; --list shows them", strings.Join(f.only, ","))
	}
	if f.cells < 0 || f.jobs < 1 || f.jobs > 64 {
		return nil, errors.New("--cells must not be negative, --jobs within 1..64")
	}
	n := f.cells
	if n == 0 {
		n = len(all)
	}
	return Choose(all, f.seed, n), nil
}

// program is the file of the program to be tested.
func (f flags) program() (string, error) {
	if f.mlget != "" {
		return filepath.Abs(f.mlget)
	}
	if name := linklab.Find("mlget"); name != "" {
		return name, nil
	}
	return "", &linklab.HintError{Err: errors.New("mlget is not there"), Hint: "make build, or --mlget PROGRAM"}
}

// run does what the command is for.
func (f flags) run(ctx context.Context, cmd *cobra.Command, cells []Cell) error {
	name, err := f.program()
	if err != nil {
		return err
	}
	s := Session{Config: Config{Mlget: name, Seed: f.seed, Jobs: f.jobs, Keep: f.keep}, Log: cmd.ErrOrStderr()}
	cmd.PrintErrf("%d cells, %d at once, seed %d\n", len(cells), f.jobs, f.seed)
	begun := time.Now()
	outs, err := s.Run(ctx, cells)
	sum := Summarise(outs, f.seed, f.jobs, time.Since(begun))
	if err == nil {
		err = errors.Join(sum.WriteTable(cmd.OutOrStdout()), write(f.out, sum.WriteTable), write(f.page, sum.WritePage))
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case err != nil:
		return err
	case sum.Passed < sum.Tried:
		return &linklab.StatusError{Status: 1}
	}
	return nil
}

// write writes what text writes to the file of that name, if it has one.
func write(name string, text func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	var b bytes.Buffer
	if err := text(&b); err != nil {
		return err
	}
	return rewrite.File(name, b.Bytes())
}
