package faults

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestTableCountsWhatCameOut(t *testing.T) {
	cells := Matching(Matrix(), []string{"link/rst/tail/1.1", "server/goaway/start"})
	var outs []Outcome
	for i, c := range cells {
		outs = append(outs, Outcome{Cell: c, Passed: i != 1, Met: true, Code: 4 * (i % 2), Why: map[bool]string{true: "wrong bytes"}[i == 1], Wrong: i == 1, Seconds: float64(i)})
	}
	// In whatever order they end.
	outs[0], outs[5] = outs[5], outs[0]
	s := Summarise(outs, 3, 2, 5*time.Second)
	var table, page strings.Builder
	if err := errors.Join(s.WriteTable(&table), s.WritePage(&page)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| rst | tail | 2/2 | 1/2 | 2/2 | - | - | - | 6 | 5 | 0 4 | 6.0 |",
		"| rst | tail, all | - | 1/1 | - | - | - | - | 1 | 1 | 4 | 3.0 |",
		"| goaway | start | - | - | 2/2 | 4/4 | 6 | 6 | 0 4 | 12.0 |",
		"| rst | tail, files | 1/1 | 1/1 | - | - | - | - | 2 | 2 | 0 4 | 14.0 |",
		"failed: link/rst/tail/1.1/2: wrong bytes",
		"15 cells: 14 passed, 1 failed (0 hung, 1 with wrong bytes); the fault was met in 15; seed 3; 5 s, 2 at once",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, table.String())
		}
	}
	for _, want := range []string{
		"| connections reset, forgotten or refused | 5 | 9 | 5 | 3 | 1 | 0 | 0 |",
		"| **all** | | 15 | ",
		"- failed: `link/rst/tail/1.1/2`: wrong bytes",
	} {
		if !strings.Contains(page.String(), want) || strings.Contains(page.String(), "TABLE\n") {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
}

// Rows that a reader takes in, and no kind that is nowhere or twice.
func TestEveryKindIsInOneGroup(t *testing.T) {
	rows := map[string]int{}
	for _, g := range groups() {
		for _, n := range g.names() {
			rows[n]++
		}
	}
	if n := len(groups()); n > 32 {
		t.Errorf("%d rows", n)
	}
	for _, c := range Matrix() {
		if n := rows[string(c.Family)+" "+c.Kind]; n != 1 {
			t.Errorf("%s is in %d groups", c, n)
		}
	}
}
