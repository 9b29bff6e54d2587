package progress

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
)

// redraw is how often bars are drawn anew at most.
const redraw = 200 * time.Millisecond

// bars shows a run as bars that are redrawn in place. What they say is read from
// the board when they are drawn, not when events come in: many events cost no
// more drawing than few.
type bars struct {
	mu      sync.Mutex // guards all below: a goroutine draws
	board   board
	files   []*fileRow // in their order, of a run of a few
	screen  screen
	started bool // the run has

	changed       chan struct{} // something has been added since they were drawn
	stop, stopped chan struct{}
}

// fileRow is what is shown of one of a few files; it outlives the file.
type fileRow struct {
	id    event.FileID
	name  string
	final string // how it ended; empty: it has not
	full  bool   // every byte is there
}

// newBars begins to draw on w.
func newBars(w io.Writer) *bars {
	b := &bars{screen: newScreen(w), changed: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	go b.drawChanges()
	return b
}

// drawChanges draws what was added, as long as the view is there.
func (b *bars) drawChanges() {
	defer close(b.stopped)
	wait, drawn := time.NewTimer(0), time.Now()
	defer wait.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.changed:
		}
		wait.Reset(redraw - time.Since(drawn))
		select {
		case <-b.stop:
			return
		case <-wait.C:
			b.draw()
			drawn = time.Now()
		}
	}
}

func (b *bars) draw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started {
		columns, lines := b.screen.size()
		b.screen.show(clip(layout(b.rows(), b.status(), columns), lines), columns)
	}
}

// close draws the bars a last time and leaves them where they are.
func (b *bars) close() {
	close(b.stop)
	<-b.stopped
	b.draw()
}

// notice prints above the bars.
func (b *bars) notice(text string, _ bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.screen.above(noticeLine(text))
}

func (b *bars) add(e event.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.board.add(e)
	select {
	case b.changed <- struct{}{}:
	default: // it is known
	}
	switch e := e.(type) {
	case event.RunStarted:
		b.started = true
	case event.FileStarted:
		if !b.board.open && b.board.files > 1 && b.board.files <= maxFileRows && b.fileRow(e.File) == nil {
			b.files = append(b.files, &fileRow{id: e.File, name: filepath.Base(cmp.Or(e.Output, e.URL))})
			slices.SortFunc(b.files, func(x, y *fileRow) int { return cmp.Compare(x.id, y.id) })
		}
	case event.FileEnded:
		if r := b.fileRow(e.File); r != nil {
			r.final, r.full = "done", e.ExitCode == 0
			if !r.full {
				r.final = "failed"
			}
		}
	}
}

func (b *bars) fileRow(id event.FileID) *fileRow {
	for _, f := range b.files {
		if f.id == id {
			return f
		}
	}
	return nil
}

// rows are what there is to show: links, files, the whole.
func (b *bars) rows() (rows []row) {
	for i := range b.board.links {
		rows = append(rows, b.board.linkRow(i))
	}
	for _, f := range b.files {
		rows = append(rows, b.contentOf(f))
	}
	return append(rows, b.board.totalRow())
}

func (b *board) linkRow(i int) row {
	n := b.linkBytes(i)
	size, known := b.size()
	r := row{
		name: b.links[i].name, bytes: units.Bytes(n), rate: units.Mbit(b.shownRate(i)), percent: "-",
		state: stateWord(b.links[i].state), part: ratio(n, size), known: known && size > 0,
	}
	if r.known {
		r.percent = percent(r.part)
	}
	return r
}

func (b *board) totalRow() row {
	part, known := b.fraction()
	r := row{name: "total", bytes: units.Bytes(b.done()), rate: units.Mbit(b.shownTotal()), percent: "-", part: part, known: known}
	if !known && b.files > 1 && !b.open && !b.over { // nobody knows how many bytes there will be
		r.part, r.known = ratio(int64(b.ended-b.failed), int64(b.files)), true
	}
	if r.known {
		r.percent = percent(r.part)
	}
	return r
}

func (b *bars) contentOf(fr *fileRow) row {
	r := row{name: fr.name, percent: "-", state: fr.final, known: true}
	if fr.full {
		r.part, r.percent = 1, percent(1)
	}
	if f := b.board.file(fr.id); f != nil {
		r.bytes = units.Bytes(f.here())
		if r.known = f.size >= 0; r.known {
			r.part = ratio(f.here(), f.size)
			r.percent = percent(r.part)
		}
	}
	return r
}

// status is what is said of the whole below the bars: of each part a long and a
// short form.
func (b *bars) status() (parts [][2]string) {
	add := func(long, short string) { parts = append(parts, [2]string{long, short}) }
	board := &b.board
	if size, known := board.size(); known && !board.over {
		done, all := units.Bytes(board.done()), units.Bytes(size)
		add(done+" of "+all, withoutUnit(done, all)+"/"+all)
	}
	if d, known := board.left(); known && d > 0 {
		add(units.Clock(d)+" left", units.Clock(d)+" left")
	}
	if board.files > 1 {
		add(board.fileCount(), board.fileCount())
	}
	if seconds, known := board.linkDelta(); known {
		add("Link Δ "+short(seconds), "Δ "+short(seconds))
	}
	if watts, source, known := board.watts(); known {
		text := short1(watts) + " W"
		add(text+" ("+term.Printable(source)+")", text)
	}
	return parts
}

// withoutUnit is a quantity without its unit, where that is the other one's, too.
func withoutUnit(quantity, other string) string {
	number, unit, _ := strings.Cut(quantity, " ")
	if _, also, _ := strings.Cut(other, " "); unit != also {
		return quantity
	}
	return number
}

// clip leaves out rows in the middle where the screen has too few lines: the
// cursor cannot go up beyond its top.
func clip(lines []string, most int) []string {
	if most <= 1 || len(lines) < most {
		return lines
	}
	const below = 2 // the whole, and the status
	head := max(most-1-below, 0)
	return append(lines[:head:head], lines[len(lines)-min(below, most-1):]...)
}

// row is a row's content at one moment.
type row struct {
	name, bytes, rate, percent, state string
	part                              float64 // filled part of the bar, 0 to 1
	known                             bool    // part is known
}

// bar draws a bar that is width cells wide; where its part is not known the cells
// are empty.
func bar(r row, width int) string {
	if width < minBar || !r.known {
		return strings.Repeat(" ", max(width, 0))
	}
	room := width - 2
	full := min(int(r.part*float64(room)), room)
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]"
}
