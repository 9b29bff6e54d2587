package faults

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/linklab/hostile"
)

// count is what came of some cells.
type count struct {
	tried, passed int
	longest       float64 // seconds
}

func (c *count) add(o Outcome) {
	c.tried++
	if o.Passed {
		c.passed++
	}
	c.longest = max(c.longest, o.Seconds)
}

// String writes it as "3/4", or a dash where there is no such cell.
func (c count) String() string {
	if c.tried == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", c.passed, c.tried)
}

// column is one of a table.
type column struct {
	two   bool // HTTP/2
	links int
}

func columns() []column {
	return []column{{false, 1}, {false, 2}, {false, 3}, {true, 1}, {true, 2}, {true, 3}}
}

// row is a kind of fault at a place.
type row struct {
	family  Family
	kind    string
	where   hostile.Place
	suffix  string
	columns [6]count
	codes   []int // that first runs ended in
	count
}

// suffix is what a table says beside the place.
func (c Cell) suffix() string {
	switch {
	case c.Files > 0:
		return ", files"
	case c.All:
		return ", all"
	}
	return ""
}

// Summary is what came of a session.
type Summary struct {
	Seed                      uint64
	Jobs                      int
	Took                      time.Duration
	Tried, Passed             int
	Met, Hung, Wrong          int
	Finished, Errors, Resumed int // first runs with the file; with an error; second runs that had some of it
	rows                      []row
	outcomes                  []Outcome
	failed                    []Outcome
	longest                   float64 // seconds
	longestCell               Cell
}

// Summarise counts outcomes.
func Summarise(outs []Outcome, seed uint64, jobs int, took time.Duration) Summary {
	outs = slices.Clone(outs)
	s := Summary{Seed: seed, Jobs: jobs, Took: took, outcomes: outs}
	order := map[string]int{}
	for i, c := range Matrix() {
		order[c.String()] = i
	}
	slices.SortFunc(outs, func(a, b Outcome) int { return cmp.Compare(order[a.Cell.String()], order[b.Cell.String()]) })
	for _, o := range outs {
		s.add(o)
	}
	return s
}

func (s *Summary) add(o Outcome) {
	c := o.Cell
	s.Tried++
	for _, b := range []struct {
		is bool
		n  *int
	}{
		{o.Passed, &s.Passed},
		{o.Met, &s.Met},
		{o.Hung, &s.Hung},
		{o.Wrong, &s.Wrong},
		{o.Code == 0 && !o.Hung, &s.Finished},
		{o.Code != 0, &s.Errors},
		{o.Resumed > 0, &s.Resumed},
	} {
		if b.is {
			*b.n++
		}
	}
	if o.Seconds > s.longest {
		s.longest, s.longestCell = o.Seconds, c
	}
	if !o.Passed {
		s.failed = append(s.failed, o)
	}
	i := slices.IndexFunc(s.rows, func(r row) bool {
		return r.family == c.Family && r.kind == c.Kind && r.where == c.Where && r.suffix == c.suffix()
	})
	if i < 0 {
		i = len(s.rows)
		s.rows = append(s.rows, row{family: c.Family, kind: c.Kind, where: c.Where, suffix: c.suffix()})
	}
	r := &s.rows[i]
	r.add(o)
	if !slices.Contains(r.codes, o.Code) {
		r.codes = append(r.codes, o.Code)
	}
	for k, col := range columns() {
		if col.two == c.Protocol.Two() && col.links == c.Links {
			r.columns[k].add(o)
		}
	}
}

// Line is the summary in one line.
func (s Summary) Line() string {
	return fmt.Sprintf("%d cells: %d passed, %d failed (%d hung, %d with wrong bytes); the fault was met in %d; seed %d; %.0f s, %d at once",
		s.Tried, s.Passed, s.Tried-s.Passed, s.Hung, s.Wrong, s.Met, s.Seed, s.Took.Seconds(), s.Jobs)
}

// WriteTable writes the tables of links and servers, what failed, and the line.
func (s Summary) WriteTable(w io.Writer) error {
	var b strings.Builder
	for _, f := range []Family{OfLink, OfServer} {
		s.table(&b, f)
	}
	for _, o := range s.failed {
		fmt.Fprintf(&b, "failed: %s: %s\n", o.Cell, o.Why)
	}
	fmt.Fprintf(&b, "%s\nFirst runs: %d finished, %d ended in an error; of the second runs %d had bytes of the first one. The longest cell: %s, %.0f s.\n",
		s.Line(), s.Finished, s.Errors, s.Resumed, s.longestCell, s.longest)
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes that of a family.
func (s Summary) table(b *strings.Builder, f Family) {
	rows := slices.DeleteFunc(slices.Clone(s.rows), func(r row) bool { return r.family != f })
	if len(rows) == 0 {
		return
	}
	cols := columns()
	if f == OfServer { // never three
		cols = slices.DeleteFunc(cols, func(c column) bool { return c.links == 3 })
	}
	b.WriteString("| fault | where |")
	for _, c := range cols {
		p := "1.1"
		if c.two {
			p = "2"
		}
		fmt.Fprintf(b, " %s, %d |", p, c.links)
	}
	b.WriteString(" tried | passed | exits | longest, s |\n| --- | --- |" + strings.Repeat(" --- |", len(cols)+4) + "\n")
	var all count
	for _, r := range rows {
		fmt.Fprintf(b, "| %s | %s%s |", r.kind, r.where, r.suffix)
		for i, c := range columns() {
			if slices.Contains(cols, c) {
				fmt.Fprintf(b, " %s |", r.columns[i])
			}
		}
		slices.Sort(r.codes)
		codes := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.codes)), " "), "[]")
		fmt.Fprintf(b, " %d | %d | %s | %.1f |\n", r.tried, r.passed, codes, r.longest)
		all.tried += r.tried
		all.passed += r.passed
		all.longest = max(all.longest, r.longest)
	}
	fmt.Fprintf(b, "| **all** | |%s %d | %d | | %.1f |\n\n", strings.Repeat(" |", len(cols)), all.tried, all.passed, all.longest)
}
