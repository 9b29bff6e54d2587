package sweep

import (
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// phoneTails is a radio of 2 W whose tail costs 5 J, and files of 10 MB at 40 Mbit/s
// each, at 80 at most.
type phoneTails struct{ asked map[string]int }

func (p *phoneTails) RunTail(_ context.Context, w TailWay) (m Measure, failure string, err error) {
	p.asked[w.Name]++
	if p.asked[w.Name] == 2 {
		return m, "no route", nil
	}
	m.Bytes = int64(w.Files) * 10e6
	m.Seconds = float64(m.Bytes) * 8e-6 / float64(40*w.Concurrency)
	joules, tail := 2*m.Seconds, 5.0
	m.Joules, m.TailJoules = &joules, &tail
	return m, "", nil
}

func TestTails(t *testing.T) {
	p := &phoneTails{asked: map[string]int{}}
	all, err := Tails(t.Context(), 3, 1, 0, p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	// One file: 2 s, 4 J; two of them 4 s and 8 J, or at once 2 s and 4 J. A tail each.
	for i, want := range []TailSummary{
		{Seconds: 2, Joules: 4, Mbps: 40, Per100MB: 90},
		{Seconds: 4, Joules: 8, Mbps: 40, Per100MB: 65},
		{Seconds: 2, Joules: 4, Mbps: 80, Per100MB: 45},
	} {
		s := all[i]
		if s.Runs != 2 || s.Failed != 1 || s.TailJoules != 5 || s.Seconds != want.Seconds || s.Joules != want.Joules ||
			math.Abs(s.Mbps-want.Mbps) > 1e-9 || math.Abs(s.Per100MB-want.Per100MB) > 1e-9 {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
	var b strings.Builder
	if err := TailMarkdown(&b, all); err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| one file | 2.00 | 40.0 | 4.00 | 5.00 | 55.6 | 90.0 | 2 |",
		"| two at once | 2.00 | 80.0 | 4.00 | 5.00 | 55.6 | 45.0 | 2 |",
		"| two, each with its tail: twice the first | 4.00 | – | 8.00 | 10.00 | 55.6 | 90.0 | – |",
	} {
		if !strings.Contains(b.String(), row) {
			t.Errorf("no %q in\n%s", row, b.String())
		}
	}
}

// noEnergy is a machine that does not say what it draws.
type noEnergy struct{ failure string }

func (n noEnergy) RunTail(context.Context, TailWay) (Measure, string, error) {
	return Measure{Bytes: 1, Seconds: 1}, n.failure, nil
}

func TestTailsWithoutEnergy(t *testing.T) {
	if _, err := Tails(t.Context(), 1, 1, 0, noEnergy{}, io.Discard); !errors.Is(err, errNoTail) {
		t.Errorf("%v", err)
	}
	if _, err := Tails(t.Context(), 1, 1, 0, noEnergy{failure: "404"}, io.Discard); err == nil {
		t.Error("downloads that all fail are compared")
	}
}
