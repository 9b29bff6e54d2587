package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/launch"
	"github.com/mlget/mlget/internal/sweep"
)

// runTails compares what tails cost, and prints the table.
func runTails(ctx context.Context, o *sweepOptions, urls, extra []string, stdio console.IO) (err error) {
	if o.runs < 1 || o.runs > 1000 {
		return exit.Usagef("--runs %d: must be within 1 to 1000", o.runs)
	}
	if o.tails <= 0 || o.tails > time.Hour {
		return exit.Usagef("--tails %v: must be above 0, and an hour at most", o.tails)
	}
	if o.format != "text" && o.format != "json" {
		return exit.Usagef("--format %s: with --tails there are text, json", o.format)
	}
	text, err := o.targets(urls, stdio.In)
	if err != nil {
		return err
	}
	list := bytes.Fields(text)
	if len(list) != 2 {
		return exit.Usagef("--tails: %d URLs; it compares two", len(list))
	}
	c := tailChild{urls: list}
	if c.self, err = launch.Of(os.Args).Self(); err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(o.scratch, "mlget-tails-"); err != nil {
		return exit.FileError{Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	c.baseline = o.baseline
	c.extra = append([]string{"--tail", o.tails.String()}, extra...)
	watched := restFlag{d: o.tails, told: true}
	warnOfRest(stdio.Err, longestTail(ctx, nil, extra).settle(&watched, &o.coolDown, 2*time.Second))
	all, err := sweep.Tails(ctx, o.runs, o.seed, o.coolDown.d, &c, stdio.Err)
	if err != nil {
		return fmt.Errorf("bench sweep --tails: %w", err)
	}
	write := func(out io.Writer) error { return sweep.TailMarkdown(out, all) }
	if o.format == "json" {
		write = func(out io.Writer) error { return console.WriteJSON(out, all) }
	}
	if o.output == "" {
		return write(stdio.Out)
	}
	return console.Create(o.output, write)
}

// tailChild downloads one of two files, or both, in processes of this program.
type tailChild struct {
	sweepChild
	urls [][]byte
}

// tailBlock is the I/O request of all these downloads, in bytes.
const tailBlock = 16 << 10

// RunTail implements sweep.TailRunner.
func (c *tailChild) RunTail(ctx context.Context, w sweep.TailWay) (m sweep.Measure, failure string, err error) {
	c.list = append(bytes.Join(c.urls[:w.Files], []byte("\n")), '\n')
	return c.Run(ctx, sweep.Setting{Concurrency: w.Concurrency, Parallelism: 1, Block: tailBlock})
}
