package progress

import (
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/mlget/mlget/internal/term"
)

// Widths in cells.
const (
	maxName = 20 // of the name in front of a bar
	minBar  = 6  // a shorter bar tells nothing
	goodBar = 10 // for a bar of this length, columns are left out
	maxBar  = 60 // a wider one tells nothing more
)

// columns of a row behind its bar, in their order.
const (
	columnBytes = iota
	columnRate
	columnPercent
	columnState
	columnCount
)

// usualWidths are those that columns keep while what is in them becomes longer or
// shorter.
func usualWidths() (w [columnCount]int) {
	w[columnBytes], w[columnRate], w[columnPercent] = len("976.6 KiB"), len("100.0 Mbit/s"), len("100 %")
	return w
}

func (r row) column(i int) string {
	switch i {
	case columnBytes:
		return r.bytes
	case columnRate:
		return r.rate
	case columnPercent:
		return r.percent
	}
	return r.state
}

// layout makes lines of at most columns cells of rows and of what is said below
// them. The narrower the screen, the fewer columns there are: bytes go first,
// which the status has too, then the rates, then the words for states.
func layout(rows []row, status [][2]string, columns int) (lines []string) {
	room := max(columns-1, 1) // the last cell would make some terminals begin a new line
	nameWidth, known := 0, false
	widths := usualWidths()
	for i := range rows {
		rows[i].name = shorten(term.Printable(rows[i].name), max(min(maxName, room/3), 5))
		nameWidth = max(nameWidth, cells(rows[i].name))
		known = known || rows[i].known
		for c := range columnCount {
			widths[c] = max(widths[c], cells(rows[i].column(c)))
		}
	}
	barWidth := func() int {
		left := room - nameWidth - 1
		for _, w := range widths {
			if w > 0 {
				left -= w + 1
			}
		}
		return left
	}
	wanted := 0 // cells for a bar
	if known {
		wanted = goodBar
	}
	for _, c := range []int{columnBytes, columnRate, columnState} {
		if barWidth() < wanted {
			widths[c] = 0
		}
	}
	drawn := min(barWidth(), maxBar)
	if drawn < minBar || !known {
		drawn = 0
	}
	for _, r := range rows {
		line := pad(r.name, nameWidth)
		if drawn > 0 {
			line += " " + bar(r, drawn)
		}
		for c, w := range widths {
			switch {
			case w > 0 && c == columnState:
				line += " " + r.state
			case w > 0:
				line += " " + strings.Repeat(" ", w-cells(r.column(c))) + r.column(c)
			}
		}
		lines = append(lines, cut(strings.TrimRight(line, " "), room))
	}
	if line := join(status, room); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// join joins as many parts as there is room for, in their long form if all fit.
func join(parts [][2]string, room int) string {
	line := ""
	for form := range 2 {
		line = ""
		fit := true
		for _, p := range parts {
			next := p[form]
			if line != "" {
				next = line + ", " + next
			}
			if cells(next) > room {
				fit = false
				continue
			}
			line = next
		}
		if fit {
			break
		}
	}
	return line
}

// short writes seconds with one decimal, as "0.3 s".
func short(seconds float64) string { return short1(seconds) + " s" }

func short1(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// cells is how many cells of a terminal s takes. East Asian characters and emoji
// take two, marks that combine with what is before them none.
func cells(s string) (n int) {
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(n-cells(s), 0)) }

// shorten cuts s to n cells, the last of which then says so.
func shorten(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	return cut(s, n-1) + "…"
}

// cut cuts s to n cells.
func cut(s string, n int) string {
	for i, r := range s {
		if n -= cellsOf(r); n < 0 {
			return s[:i]
		}
	}
	return s
}
