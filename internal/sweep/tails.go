package sweep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/stats"
)

// TailWay is a way to download one file, or two of the same kind, of which the
// tail's part is compared (Guner and Kosar, trade-offs, figure 8).
type TailWay struct {
	Name        string `json:"way"`
	Files       int    `json:"files"`
	Concurrency int    `json:"concurrency"`
}

// TailWays are the figure's three ways.
func TailWays() []TailWay {
	return []TailWay{{"one file", 1, 1}, {"two, back to back", 2, 1}, {"two at once", 2, 2}}
}

// TailRunner downloads once in one of the ways.
type TailRunner interface {
	RunTail(ctx context.Context, w TailWay) (m Measure, failure string, err error)
}

// TailSummary is what one way has come to: medians over the downloads that did not
// fail.
type TailSummary struct {
	TailWay
	Runs       int     `json:"runs"`
	Failed     int     `json:"failed"`
	Modelled   bool    `json:"modelled,omitempty"`
	Seconds    float64 `json:"seconds"`
	Mbps       float64 `json:"throughput_mbps"`
	Joules     float64 `json:"dynamic_joules"` // until the last byte
	TailJoules float64 `json:"tail_joules"`    // after it
	Per100MB   float64 `json:"joules_per_100mb"`
}

// errNoTail is why there is nothing to compare.
var errNoTail = errors.New("no energy is known")

// Tails downloads runs times in each way, in random order, with a pause after each.
func Tails(ctx context.Context, runs int, seed uint64, cool time.Duration, r TailRunner, progress io.Writer) ([]TailSummary, error) {
	ways := TailWays()
	out := make([]TailSummary, len(ways))
	got := make([][]Measure, len(ways))
	rng := rand.New(rand.NewPCG(seed, 0x7461696c))
	for round := range runs {
		for _, i := range rng.Perm(len(ways)) {
			m, failure, err := r.RunTail(ctx, ways[i])
			switch {
			case ctx.Err() != nil:
				return nil, context.Cause(ctx)
			case err != nil:
				return nil, err
			case failure == "" && (m.Joules == nil || m.TailJoules == nil):
				return nil, errNoTail
			case failure == "":
				got[i] = append(got[i], m)
			default:
				out[i].Failed++
			}
			if _, err := fmt.Fprintf(progress, "%d/%d %s: %.2f s %s\n", round+1, runs, ways[i].Name, m.Seconds, failure); err != nil {
				return nil, err
			}
			if err := pause(ctx, cool); err != nil {
				return nil, err
			}
		}
	}
	for i := range out {
		s := &out[i]
		s.TailWay, s.Runs = ways[i], len(got[i])
		if s.Runs == 0 {
			return nil, fmt.Errorf("%s: each download failed", s.Name)
		}
		median := func(of func(Measure) float64) float64 {
			var values []float64
			for _, m := range got[i] {
				values = append(values, of(m))
			}
			return stats.Median(values)
		}
		for _, m := range got[i] {
			s.Modelled = s.Modelled || m.Modelled
		}
		s.Seconds = median(func(m Measure) float64 { return m.Seconds })
		s.Mbps = median(func(m Measure) float64 { return float64(m.Bytes) * 8e-6 / m.Seconds })
		s.Joules = median(func(m Measure) float64 { return *m.Joules })
		s.TailJoules = median(func(m Measure) float64 { return *m.TailJoules })
		s.Per100MB = median(func(m Measure) float64 { return (*m.Joules + *m.TailJoules) / float64(m.Bytes) * 1e8 })
	}
	return out, nil
}

// TailMarkdown writes what Tails has found, for people. The last row is two files
// with a tail each: twice the first.
func TailMarkdown(w io.Writer, all []TailSummary) error {
	var b strings.Builder
	kind := "measured"
	if len(all) > 0 && all[0].Modelled {
		kind = "modelled"
	}
	fmt.Fprintf(&b, "Energy above base, %s; medians.\n\n", kind)
	b.WriteString("| way | s | Mbit/s | J | tail J | tail, % | J/100 MB, with the tail | runs |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	row := func(s TailSummary, runs string) {
		fmt.Fprintf(&b, "| %s | %.2f | %s | %.2f | %.2f | %s | %s | %s |\n", s.Name, s.Seconds, Figure(s.Mbps).text(1),
			s.Joules, s.TailJoules, Figure(100*s.TailJoules/(s.Joules+s.TailJoules)).text(1), Figure(s.Per100MB).text(1), runs)
	}
	for _, s := range all {
		row(s, fmt.Sprint(s.Runs))
	}
	if len(all) > 0 {
		two := all[0]
		two.Name = "two, each with its tail: twice the first"
		two.Seconds, two.Joules, two.TailJoules, two.Mbps = 2*two.Seconds, 2*two.Joules, 2*two.TailJoules, math.NaN()
		row(two, none)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
