package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/results"
)

// runner runs jobs; the real one needs Linux.
type runner interface {
	// run runs one job. What goes wrong with the tool is in the Result; an
	// error says that no job can be run any more.
	run(ctx context.Context, j Job) (Result, error)
	close() error
}

// Session runs the jobs of a plan that have no result yet.
type Session struct {
	cfg     Config
	runner  runner
	journal *results.File[Result]
	out     io.Writer // progress, for people
}

// pending are the jobs of the plan without a result, in order.
func (s *Session) pending() []Job { return s.cfg.left(s.journal.Results) }

// left are the jobs of the plan without one of the results.
func (c Config) left(done []Result) []Job {
	return results.Left(c.Plan(), done, func(r Result) Job { return r.Job })
}

// announce says what will be run and how long that will take.
func (s *Session) announce(jobs []Job) error {
	probable, most, err := s.cfg.Estimate(jobs)
	if err != nil {
		return err
	}
	done := ""
	if n := len(s.cfg.Plan()) - len(jobs); n > 0 {
		done = fmt.Sprintf(", %d are there already", n)
	}
	_, err = fmt.Fprintf(s.out, "%d runs to do%s: about %s, at most %s\n", len(jobs), done, minutes(probable), minutes(most))
	return err
}

func minutes(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f min", d.Minutes())
}

// work runs the jobs one after the other and keeps every result at once.
func (s *Session) work(ctx context.Context, jobs []Job) error {
	for i, j := range jobs {
		if err := ctx.Err(); err != nil {
			return err
		}
		started, load := time.Now(), loadAverage("/proc")
		r, err := s.runner.run(ctx, j)
		if err2 := ctx.Err(); err2 != nil {
			return err2 // the result is that of a tool that was stopped
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", j.Scenario, j.Tool, err)
		}
		r.Job, r.Started, r.Load = j, started.UTC().Truncate(time.Second), load
		if err := s.journal.Add(r); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(s.out, "%*d/%d %s\n", len(fmt.Sprint(len(jobs))), i+1, len(jobs), r.line()); err != nil {
			return err
		}
	}
	return nil
}

// line is a result as progress output.
func (r Result) line() string {
	text := fmt.Sprintf("%-20s %-8s %-14s ", strings.TrimSuffix(r.Scenario+" "+r.Files, " "), r.Transport, r.Tool)
	if !r.OK() {
		text += r.Failure
		if r.Detail != "" {
			text += ": " + r.Detail
		}
		return text
	}
	text += fmt.Sprintf("%7.2f s", r.Seconds)
	if r.Bound > 0 {
		text += fmt.Sprintf("  %.3f of the bound", r.Bound/r.Seconds)
	}
	if r.Energy != nil {
		text += fmt.Sprintf("  %.2f J", r.Energy.Total.Dynamic)
	}
	if r.LinkDelta != nil {
		text += fmt.Sprintf("  link Δ %.2f s", *r.LinkDelta)
	}
	return text
}

// finish closes what the session holds.
func (s *Session) finish() error {
	return errors.Join(s.runner.close(), s.journal.Close())
}

// writeReport writes the report to the file, if there is one, and to out. Where one
// cannot be written the other is.
func writeReport(h Header, done []Result, out io.Writer, path string) error {
	text := Report(h, done)
	var err error
	if path != "" {
		err = spliceFile(path, text)
	}
	_, err2 := io.WriteString(out, text)
	return errors.Join(err, err2)
}
