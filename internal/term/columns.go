package term

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Columns gives the lines of a table whose cells stand below each other, each column two
// blanks from the one before: the first one and those of left (by their numbers) to the
// left, numbers to the right. All rows have as many cells as the first one.
func Columns(rows [][]string, left ...int) (lines []string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 || slices.Contains(left, i) {
				line.WriteString("  " + cell + pad)
			} else {
				line.WriteString("  " + pad + cell)
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}
