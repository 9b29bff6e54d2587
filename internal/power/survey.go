package power

import (
	"context"
	"errors"
	"time"
)

// settle is how long a survey waits between two readings of a counter, so that
// there is a mean to tell.
const settle = 500 * time.Millisecond

// Finding is what a survey found out about a source.
type Finding struct {
	Source   string   `json:"source"`
	Readable bool     `json:"readable"`
	Chosen   bool     `json:"chosen"`             // what auto takes
	Watts    *float64 `json:"watts"`              // nil: no reading
	External bool     `json:"external,omitempty"` // on external power: not what the device draws
	Detail   string   `json:"detail,omitempty"`   // what is read
	Problem  string   `json:"problem,omitempty"`  // why not, or what is wrong with it
	Hint     string   `json:"hint,omitempty"`     // what could help
}

// Survey tries every source there is.
func Survey(ctx context.Context, cfg Config) []Finding {
	tree, noTree := openTree(cfg.Sysfs)
	if noTree == nil {
		defer tree.close()
	}
	findings := make([]Finding, 0, len(openers()))
	best, at := rankTermux+2, -1
	for i, o := range openers() {
		f := Finding{Source: o.name, Hint: o.hint}
		src, err := o.try(ctx, tree, noTree, cfg)
		if err != nil {
			f.Problem = err.Error()
			if errors.Is(err, errNone) || errors.Is(err, errNotTermux) || noTree != nil {
				f.Hint = "" // there is nothing to be readable
			}
		} else {
			f.look(ctx, src)
			if r := rank(src); r < best {
				best, at = r, i
			}
			src.close()
		}
		findings = append(findings, f)
	}
	if at >= 0 {
		findings[at].Chosen = true
	}
	return findings
}

// look takes as many readings as it needs for a figure.
func (f *Finding) look(ctx context.Context, src source) {
	f.Readable, f.Hint, f.Detail = true, "", src.describe().detail
	begun := time.Now()
	samples, err := src.read(ctx, 0, nil)
	if err == nil && len(samples) > 0 && samples[0].counter {
		t := time.NewTimer(settle)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		samples, err = src.read(ctx, time.Since(begun), samples)
	}
	if err != nil {
		f.Problem = err.Error()
	}
	samples = src.flush(samples)
	switch n := len(samples); {
	case n == 0:
	case !samples[0].plausible():
		f.Problem = errImplausible.Error()
	case !samples[0].counter:
		f.Watts, f.External = &samples[0].watts, samples[0].external
	case n == 2 && samples[1].joules > 0:
		watts := samples[1].joules / (samples[1].at - samples[0].at).Seconds()
		f.Watts = &watts
	default:
		f.Problem = errStuck.Error()
	}
}
