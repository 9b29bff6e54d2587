package power

import (
	"context"
	"errors"
	"time"
)

// settle is how long a survey waits between two readings of a counter, so that
// there is a mean to tell.
const settle = 500 * time.Millisecond

// surveyPatience is how long a survey waits for an answer: Termux is asked twice.
const surveyPatience = 2*termuxPatience + time.Second

// Finding is a survey's result for a source.
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

// Survey tries every source there is, all at once. One that does not answer is left
// to itself, after surveyPatience or when ctx ends.
func Survey(ctx context.Context, cfg Config) []Finding { return survey(ctx, cfg, openers()) }

// surveyed is a finding and how good its source is.
type surveyed struct {
	Finding
	at, rank int
}

func survey(ctx context.Context, cfg Config, kinds []opener) []Finding {
	ctx, cancel := context.WithTimeout(ctx, surveyPatience)
	defer cancel()
	findings := make([]Finding, len(kinds))
	answers := make(chan surveyed, len(kinds)) // so that a late answer does not block
	for i, o := range kinds {
		findings[i] = Finding{Source: o.name, Problem: errHangs.Error()}
		go func() {
			f, rank := o.survey(ctx, cfg)
			answers <- surveyed{f, i, rank}
		}()
	}
	best, at := noRank, -1
	for range kinds {
		select {
		case a := <-answers:
			findings[a.at] = a.Finding
			if a.rank < best {
				best, at = a.rank, a.at
			}
		case <-ctx.Done():
		}
	}
	if at >= 0 {
		findings[at].Chosen = true
	}
	return findings
}

// survey tries a kind of source, in a tree of its own: what hangs keeps it.
func (o opener) survey(ctx context.Context, cfg Config) (f Finding, best int) {
	tree, noTree := openTree(cfg.Sysfs)
	if noTree == nil {
		defer tree.close()
	}
	f = Finding{Source: o.name, Hint: o.hint}
	src, err := o.try(ctx, tree, noTree, cfg)
	if err != nil {
		f.Problem = err.Error()
		if errors.Is(err, errNone) || errors.Is(err, errNotTermux) || noTree != nil {
			f.Hint = "" // there is nothing to be readable
		}
		return f, noRank
	}
	defer src.close()
	f.look(ctx, src)
	return f, rank(src)
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
