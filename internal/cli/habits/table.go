package habits

import (
	_ "embed" // for the table
	"strings"
)

// tableText says what wget, curl and aria2 have words for. As a text it is 30 KB less of the
// program than as a list of rows, of which each text has an address that a phone's loader fills in.
//
//go:embed table.txt
var tableText string //nolint:gochecknoglobals // the only form in which Go embeds files

// row is how others write what mlget does, or why mlget does not.
type row struct {
	tools   string // whose it is: w wget, c curl, a aria2
	names   string // long names, letters, and wget's pairs of letters; NAME-* is a family of them
	value   string // what its value is called; "[X]": it may be left out; "": there is none
	when    string // the row is for this value alone
	becomes string // mlget's words, with VALUE for the value
	hint    string // it is refused, with this hint; else "" in becomes is no effect
	note    string // what the documentation says of one that has no effect
}

// table has the words of wget, curl and aria2 that mlget does not have, in the order of
// the documentation.
func table() (rows []row) {
	for line := range strings.Lines(tableText) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.SplitN(line, " | ", 4)
		r := row{tools: fields[0], names: fields[1]}
		r.value, r.when, _ = strings.Cut(fields[2], " = ")
		switch text := fields[3][2:]; fields[3][0] {
		case '>':
			r.becomes = text
		case '!':
			r.hint = text
		default:
			r.note = text
		}
		rows = append(rows, r)
	}
	return rows
}
