package faults

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

//go:embed page.md
var pageText string

// WritePage writes docs/measured/reliability.md: what was tried, a row a group of faults.
func (s Summary) WritePage(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| fault | kinds | cells | file | clear error | wrong | hung | failed otherwise |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, g := range groups() {
		var n tally
		for _, o := range s.outcomes {
			if g.has(o.Cell) {
				n.add(o)
			}
		}
		fmt.Fprintf(&b, "| %s | %d | %s |\n", g.name, len(g.names()), n)
	}
	var all tally
	for _, o := range s.outcomes {
		all.add(o)
	}
	fmt.Fprintf(&b, "| **all** | | %s |\n\n", all)
	for _, o := range s.failed {
		fmt.Fprintf(&b, "- failed: `%s`: %s\n", o.Cell, o.Why)
	}
	fmt.Fprintf(&b, "\n%s\n", s.Line())
	_, err := io.WriteString(w, strings.Replace(pageText, "TABLE\n", b.String(), 1))
	return err
}

// tally is what came of the cells of a group.
type tally struct {
	cells, finished, errors, wrong, hung, otherwise int
}

func (t *tally) add(o Outcome) {
	t.cells++
	switch {
	case o.Wrong:
		t.wrong++
	case o.Hung:
		t.hung++
	case !o.Passed:
		t.otherwise++
	case o.Code == 0:
		t.finished++
	default:
		t.errors++
	}
}

// String is the tally's columns.
func (t tally) String() string {
	return fmt.Sprintf("%d | %d | %d | %d | %d | %d", t.cells, t.finished, t.errors, t.wrong, t.hung, t.otherwise)
}
