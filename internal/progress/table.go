package progress

import (
	"io"
	"os"
	"strings"

	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
)

// Row is what a Table shows of one thing that is downloaded, or that downloads.
type Row struct {
	Name  string
	Done  int64   // bytes
	Size  int64   // bytes; 0: not known
	Rate  float64 // bytes per second; 0: none is shown
	State string
}

// Table shows rows that somebody else keeps as bars, in a terminal in the place of the ones
// before.
type Table struct {
	screen     screen
	isTerminal bool
	shown      bool
}

// NewTable makes a table on w.
func NewTable(w io.Writer) *Table {
	t := &Table{screen: newScreen(w), isTerminal: Columns(w) > 0}
	if f, ok := w.(*os.File); ok && t.isTerminal {
		t.isTerminal = obeys(f)
	}
	return t
}

// Show shows rows, and lines of text below them. Its error is that of the writer.
func (t *Table) Show(rows []Row, below []string) error {
	drawn := make([]row, len(rows))
	for i, r := range rows {
		drawn[i] = row{name: r.Name, bytes: units.Bytes(r.Done), percent: "-", part: ratio(r.Done, r.Size), known: r.Size > 0, state: r.State}
		if r.Rate > 0 {
			drawn[i].rate = units.Mbit(r.Rate)
		}
		if r.Size > 0 {
			drawn[i].percent = percent(drawn[i].part)
		}
	}
	columns, lines := t.screen.size()
	table := layout(drawn, nil, columns)
	for _, line := range below {
		line = term.Printable(line)
		if t.isTerminal {
			line = shorten(line, max(columns-1, 1))
		}
		table = append(table, line)
	}
	if t.isTerminal {
		t.screen.show(clip(table, lines), columns)
		return nil
	}
	text := strings.Join(table, "\n") + "\n"
	if t.shown {
		text = "\n" + text
	}
	t.shown = true
	_, err := io.WriteString(t.screen.w, text)
	return err
}
