package study

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/results"
	"github.com/mlget/mlget/internal/sweep"
)

// readSweep reads what "mlget bench sweep" has found out: a run for each download, and an
// approach for each combination of concurrency, parallelism and block size.
func readSweep(in io.Reader) ([]*Run, error) {
	_, list, _, err := results.Read[sweep.Header, sweep.Result](in)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, errors.New("a sweep without a result")
	}
	runs := make([]*Run, len(list))
	for i, r := range list {
		runs[i] = ofSweep(r)
	}
	return runs, nil
}

// ofSweep is a sweep's result as a run. What a sweep does not keep is not known.
func ofSweep(r sweep.Result) *Run {
	run := &Run{
		Setting: fmt.Sprintf("-j %d -p %d --block-size %d", r.Concurrency, r.Parallelism, r.Block),
		Report: report.Report{
			Schema: report.Schema, Seconds: r.Seconds, CPUSeconds: r.CPU, ExitCode: r.ExitCode, Error: r.Failure,
		},
	}
	if r.Block%1024 == 0 {
		run.Setting = fmt.Sprintf("-j %d -p %d --block-size %dK", r.Concurrency, r.Parallelism, r.Block>>10)
	}
	if r.Seconds > 0 {
		run.Report.ThroughputMbps = float64(r.Bytes) * 8 / 1e6 / r.Seconds
	}
	if r.Failure != "" && r.ExitCode == 0 {
		run.Report.ExitCode = 1
	}
	known := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	if r.MedianWatts != nil || r.PeakWatts != nil {
		run.Report.Power = &report.Power{MedianWatts: known(r.MedianWatts), PeakWatts: known(r.PeakWatts), BaseWatts: math.NaN(), P90Watts: math.NaN()}
	}
	if r.Joules != nil && r.Bytes > 0 {
		run.Report.Energy = &report.Energy{
			Modelled: r.Modelled, TotalJoules: math.NaN(), DynamicJoules: *r.Joules, TailJoules: known(r.TailJoules),
			JoulesPer100MB: *r.Joules / float64(r.Bytes) * 1e8, Covered: 1,
		}
	}
	return run
}
