package progress

import (
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
)

// redraw is how often bars are drawn anew.
const redraw = 200 * time.Millisecond

// Widths in cells.
const (
	maxName     = 20 // of the name in front of a bar
	minBar      = 6  // below it, the room is left empty
	maxBar      = 60 // a wider one tells nothing more
	minForExtra = 30 // room that must be left for the last column to be shown
)

// Places of the rows, from the top: links, files, the whole.
const (
	filePriority  = 1 << 16
	totalPriority = 1 << 24
)

// bars shows a run as bars that are redrawn in place. What they say is read from
// the board when they are drawn, not when events come in: many events cost no
// more drawing than few.
type bars struct {
	w       io.Writer
	refresh <-chan any // draws when it delivers; nil: by time

	mu    sync.Mutex // guards board and fileRows' content: mpb draws in goroutines of its own
	board board

	mpb      *mpb.Progress // nil before the run has started
	fileRows map[event.FileID]*fileRow
}

// fileRow is what is shown of one of a few files; it outlives the file.
type fileRow struct {
	name  string
	final string // how it ended; empty: it has not
	full  bool   // every byte is there
}

// row is a row's content at one moment.
type row struct {
	bytes, rate, percent, extra string
	part                        float64 // filled part of the bar, 0 to 1
	known                       bool    // part is known
}

func newBars(w io.Writer, refresh <-chan any) *bars {
	return &bars{w: w, refresh: refresh, fileRows: make(map[event.FileID]*fileRow)}
}

func (b *bars) add(e event.Event) {
	b.mu.Lock()
	b.board.add(e)
	started := b.change(e)
	links := len(b.board.links)
	b.mu.Unlock()
	// Rows are added without the lock: mpb may be drawing and want it.
	switch e := e.(type) {
	case event.RunStarted:
		if b.mpb == nil {
			b.start(e)
		}
	case event.LinkJoined:
		if b.mpb != nil && int(e.Link) == links-1 {
			b.addLink(e.Info.Name, links-1)
		}
	case event.FileStarted:
		if started != nil && b.mpb != nil {
			b.addRow(started.name, filePriority+int(e.File), func() row { return b.fileRow(e.File) })
		}
	}
}

// change keeps the rows of files; it gives the one that e starts, or nil.
func (b *bars) change(e event.Event) *fileRow {
	switch e := e.(type) {
	case event.FileStarted:
		if b.board.open || b.board.files < 2 || b.board.files > maxFileRows || b.fileRows[e.File] != nil {
			return nil
		}
		r := &fileRow{name: filepath.Base(e.Output)}
		b.fileRows[e.File] = r
		return r
	case event.FileEnded:
		if r := b.fileRows[e.File]; r != nil {
			r.final, r.full = "done", e.ExitCode == 0
			if !r.full {
				r.final = "failed"
			}
		}
	}
	return nil
}

func (b *bars) start(e event.RunStarted) {
	if b.refresh != nil {
		b.mpb = mpb.New(mpb.WithOutput(b.w), mpb.WithManualRefresh(b.refresh))
	} else {
		b.mpb = mpb.New(mpb.WithOutput(b.w), mpb.WithRefreshRate(redraw), mpb.WithAutoRefresh())
	}
	for i, l := range e.Links {
		b.addLink(l.Name, i)
	}
	b.addRow("total", totalPriority, b.totalRow)
}

// addLink adds the row of link i.
func (b *bars) addLink(name string, i int) {
	b.addRow(name, i, func() row { return b.linkRow(i) })
}

// addRow adds a row whose content is asked for whenever it is drawn.
func (b *bars) addRow(name string, priority int, content func() row) {
	name = shorten(term.Printable(name), maxName)
	// One drawing asks the first decorator first: it takes the row's content for
	// all of them, so that they agree.
	var now row
	column := func(pick func() string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return pick() }, decor.WCSyncSpace)
	}
	// mpb refuses only after its end, when there is nothing more to show.
	_, _ = b.mpb.Add(0,
		mpb.BarFillerFunc(func(w io.Writer, st decor.Statistics) error {
			_, err := io.WriteString(w, bar(now, st.AvailableWidth))
			return err
		}),
		mpb.BarPriority(priority),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			b.mu.Lock()
			now = content()
			b.mu.Unlock()
			return name
		}, decor.WCSyncWidthR)),
		mpb.AppendDecorators(
			column(func() string { return now.bytes }),
			column(func() string { return now.rate }),
			column(func() string { return now.percent }),
			decor.Any(func(st decor.Statistics) string {
				if st.AvailableWidth < minForExtra || now.extra == "" {
					return ""
				}
				return "  " + now.extra
			}, decor.WCSyncWidthR),
		),
	)
}

func (b *bars) linkRow(i int) row {
	if i >= len(b.board.links) {
		return row{}
	}
	n := b.board.linkBytes(i)
	size, known := b.board.size()
	share := "-"
	if all := b.board.received(); all > 0 {
		share = percent(ratio(n, all))
	}
	return row{
		bytes: units.Bytes(n), rate: units.Mbit(b.board.linkRate(i)), percent: share,
		extra: stateWord(b.board.links[i].state),
		part:  ratio(n, size), known: known && size > 0,
	}
}

func (b *bars) totalRow() row {
	part, known := b.board.fraction()
	r := row{bytes: units.Bytes(b.board.done()), rate: units.Mbit(b.board.rate), percent: "-", part: part, known: known}
	var extra []string
	if known {
		size, _ := b.board.size()
		r.percent = percent(part)
		extra = append(extra, "of "+units.Bytes(size))
	}
	if b.board.files > 1 {
		extra = append(extra, b.board.fileCount())
	}
	if d, known := b.board.left(); known && d > 0 {
		extra = append(extra, units.Clock(d)+" left")
	}
	r.extra = strings.Join(extra, ", ")
	return r
}

func (b *bars) fileRow(id event.FileID) row {
	fr := b.fileRows[id]
	r := row{percent: "-", extra: fr.final, known: true}
	if fr.full {
		r.part, r.percent = 1, percent(1)
	}
	if f := b.board.file(id); f != nil {
		r.bytes = units.Bytes(f.done)
		if r.known = f.size >= 0; r.known {
			r.part = ratio(f.done, f.size)
			r.percent, r.extra = percent(r.part), "of "+units.Bytes(f.size)
		}
	}
	return r
}

// notice prints above the bars. Before they are there, or after they had to be
// given up, it goes straight to the terminal.
func (b *bars) notice(text string, _ bool) {
	line := noticeLine(text)
	if b.mpb != nil {
		if _, err := io.WriteString(b.mpb, line); err == nil {
			return
		}
	}
	_, _ = io.WriteString(b.w, line)
}

// close draws the bars a last time and leaves them where they are.
func (b *bars) close() {
	if b.mpb != nil {
		b.mpb.Shutdown()
	}
}

// bar draws a bar that is width cells wide; where its part is not known or there
// is no room for one, the cells are empty.
func bar(r row, width int) string {
	blank := 0
	if width > maxBar {
		width, blank = maxBar, width-maxBar
	}
	if width < minBar || !r.known {
		return strings.Repeat(" ", max(width, 0)+blank)
	}
	room := width - 2
	full := min(int(r.part*float64(room)), room)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]" + strings.Repeat(" ", blank)
}

// shorten cuts s to n characters, the last of which then says so.
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
