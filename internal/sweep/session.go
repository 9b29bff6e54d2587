package sweep

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mlget/mlget/internal/results"
)

// Runner downloads everything once. What goes wrong with the download is in
// failure; an error says that nothing can be run any more.
type Runner interface {
	Run(ctx context.Context, s Setting) (m Measure, failure string, err error)
}

// Session is a sweep that runs.
type Session struct {
	Plan     []Trial
	Journal  *results.File[Result]
	Runner   Runner
	WarmUp   int           // downloads before the first one that counts
	CoolDown time.Duration // pause after each download, for the device to calm down
	Progress io.Writer     // for people; may not be nil
}

// Run runs the trials that have no result yet. It ends early, with the cause,
// when ctx does; what is done is kept.
func (s *Session) Run(ctx context.Context) error {
	left := results.Left(s.Plan, s.Journal.Results, func(r Result) Trial { return r.Trial })
	if len(left) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(s.Progress, "%d downloads to do, %d are done\n", len(left), len(s.Plan)-len(left)); err != nil {
		return err
	}
	for range s.WarmUp {
		if _, _, err := s.Runner.Run(ctx, left[0].Setting); err != nil {
			return err
		}
		if err := pause(ctx, s.CoolDown); err != nil {
			return err
		}
	}
	for i, t := range left {
		began := time.Now()
		m, failure, err := s.Runner.Run(ctx, t.Setting)
		if ctx.Err() != nil {
			return context.Cause(ctx) // it is the result of a download that was stopped
		}
		if err != nil {
			return err
		}
		r := Result{Trial: t, Failure: failure, Measure: m}
		if err := r.Check(); err != nil {
			return err
		}
		if err := s.Journal.Add(r); err != nil {
			return err
		}
		if err := pause(ctx, s.CoolDown); err != nil {
			return err
		}
		rest := time.Duration(len(left)-i-1) * time.Since(began)
		if _, err := fmt.Fprintf(s.Progress, "%d/%d %s; %v left, if all take as long\n", i+1, len(left), r.line(), rest.Round(time.Second)); err != nil {
			return err
		}
	}
	return nil
}

// line is a result as progress output.
func (r Result) line() string {
	text := fmt.Sprintf("-j %d -p %d -b %s: ", r.Concurrency, r.Parallelism, size(r.Block))
	if !r.OK() {
		return text + r.Failure
	}
	text += fmt.Sprintf("%.2f s, %.2f Mbit/s", r.Seconds, r.mbps())
	if r.Joules != nil {
		text += fmt.Sprintf(", %.2f J/100 MB", r.joulesPer100MB())
	}
	return text
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
