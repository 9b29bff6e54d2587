package progress

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Readout is what is shown as aria2 does, for programs that read its lines: ModeAria2 with
// words behind it, which aria2's options ask for.
type Readout struct {
	IsHidden bool          // no line each second
	Summary  time.Duration // between longer looks at all files; 0: never
	Results  string        // the table at the end: "default", "full", "hide"; "done": unless something failed
}

// Mode is the mode that shows it.
func (r Readout) Mode() Mode {
	return Mode(fmt.Sprintf("%s:%t:%d:%s", ModeAria2, r.IsHidden, int(r.Summary.Seconds()), r.Results))
}

// readout reads a mode that Mode has made.
func (m Mode) readout() (r Readout, ok bool) {
	words := strings.Split(string(m), ":")
	if len(words) != 4 || words[0] != string(ModeAria2) {
		return r, false
	}
	seconds, err := strconv.Atoi(words[2])
	r = Readout{IsHidden: words[1] == "true", Summary: time.Duration(seconds) * time.Second, Results: words[3]}
	return r, err == nil
}

// readoutInterval is how often aria2 writes its line.
const readoutInterval = scheduler.Second

// readoutFiles is of how many files aria2's line tells.
const readoutFiles = 5

// aria2 shows a run as aria2 does.
type aria2 struct {
	noticesOnly // on standard error
	out         io.Writer
	is          Readout
	isTerminal  bool
	board       board
	lines       ticker
	summaries   ticker
	first       uint32 // the first file's number, as aria2 shows it
	connections int
	files       []*readoutFile // in the order of their ends
}

// readoutFile is what is told of a file at the end.
type readoutFile struct {
	id      event.FileID
	name    string // path, or URL
	url     string
	begun   scheduler.Time
	resumed int64
	rate    float64 // mean, bytes per second
	status  string

	looked scheduler.Time // when since was asked last, and what it was told
	had    int64
}

// since is the file's rate since this was last asked, in bytes per second.
func (f *readoutFile) since(here int64, at scheduler.Time) (rate float64) {
	if took := (at - max(f.looked, f.begun)).Seconds(); took > 0 {
		rate = float64(here-max(f.had, f.resumed)) / took
	}
	f.looked, f.had = at, here
	return max(0, rate)
}

func newAria2(err, out io.Writer, is Readout) *aria2 {
	return &aria2{
		noticesOnly: noticesOnly{err}, out: out, is: is, isTerminal: Columns(out) > 0, first: rand.Uint32(),
		summaries: ticker{}, lines: ticker{last: -readoutInterval},
	}
}

func (a *aria2) add(e event.Event) {
	switch e := e.(type) {
	case event.FileStarted:
		a.files = append(a.files, &readoutFile{id: e.File, name: e.Output, url: e.URL, begun: e.At, status: "INPR"})
	case event.ObjectKnown:
		if f := a.file(e.File); f != nil {
			f.resumed = e.Resumed
		}
	case event.FileEnded:
		a.ended(e)
	case event.Sample:
		a.connections = 0
		for _, l := range e.Links {
			a.connections += l.InFlight
		}
	}
	a.board.add(e)
	if _, over := e.(event.RunEnded); over {
		return
	}
	if a.lines.due(e, readoutInterval) && !a.is.IsHidden && len(a.board.active) > 0 {
		a.line()
	}
	if a.is.Summary > 0 && a.summaries.due(e, scheduler.Time(a.is.Summary)) && len(a.board.active) > 0 {
		a.summary()
	}
}

func (a *aria2) file(id event.FileID) *readoutFile {
	for _, f := range a.files {
		if f.id == id {
			return f
		}
	}
	return nil
}

// ended writes down how a file ended. It comes behind those that ended before.
func (a *aria2) ended(e event.FileEnded) {
	f := a.file(e.File)
	if f == nil {
		f = &readoutFile{id: e.File, begun: e.At}
	}
	a.files = slices.DeleteFunc(a.files, func(other *readoutFile) bool { return other == f })
	at := len(a.files)
	for at > 0 && a.files[at-1].status == "INPR" {
		at--
	}
	a.files = slices.Insert(a.files, at, f)
	done := e.Size
	const interrupted = 130
	switch e.ExitCode {
	case 0:
		f.status = "OK"
	case interrupted:
		done = 0
	default:
		f.status, done = "ERR", 0
	}
	if on := a.board.file(e.File); on != nil {
		done = max(done, on.here())
	}
	f.name = cmp.Or(e.Output, f.name)
	if whole, err := filepath.Abs(f.name); err == nil && filepath.Base(f.name) == f.name { // as aria2 has it without -d
		f.name = whole
	}
	if f.status == "ERR" {
		f.name = cmp.Or(f.url, f.name)
	}
	if took := (e.At - f.begun).Seconds(); took > 0 {
		f.rate = float64(max(0, done-f.resumed)) / took
	}
}

// line writes one line about all.
func (a *aria2) line() {
	text := a.readout()
	switch {
	case a.isTerminal:
		text = "\r\x1b[K" + text
	default:
		text += "\n"
	}
	_, _ = io.WriteString(a.out, text) // a reader that is gone needs no line
}

// readout is the line.
func (a *aria2) readout() string {
	if len(a.board.active) == 1 {
		text := "[" + a.of(a.board.active[0]) + fmt.Sprintf(" CN:%d DL:%sB", a.connections, terse(a.board.shownTotal()))
		if left, known := a.board.left(); known && left >= time.Second {
			text += " ETA:" + terseTime(left)
		}
		return text + "]"
	}
	text := "[DL:" + terse(a.board.shownTotal()) + "B]"
	for i, f := range a.board.active {
		if i == readoutFiles {
			text += fmt.Sprintf("(+%d)", len(a.board.active)-i)
			break
		}
		text += "[" + a.of(f) + "]"
	}
	return text
}

// of is what the line says of a file.
func (a *aria2) of(f *file) string {
	text := "#" + a.gid(f.id) + " " + terse(float64(f.here())) + "B/" + terse(float64(max(f.size, 0))) + "B"
	if f.size > 0 {
		text += fmt.Sprintf("(%d%%)", f.here()*100/f.size)
	}
	return text
}

// gid is six digits by which a file is known.
func (a *aria2) gid(id event.FileID) string {
	return fmt.Sprintf("%06x", (a.first+uint32(id))&0xffffff) //nolint:gosec // any will do
}

// summary writes what aria2 does now and then.
func (a *aria2) summary() {
	var b strings.Builder
	if a.isTerminal {
		b.WriteString("\r\x1b[K")
	}
	fmt.Fprintf(&b, " *** Download Progress Summary as of %s *** \n%s\n", time.Now().Format(time.ANSIC), strings.Repeat("=", 79))
	for _, f := range a.board.active {
		of := a.file(f.id)
		line := a.readout()
		if len(a.board.active) > 1 {
			line = "[" + a.of(f) + fmt.Sprintf(" CN:%d DL:%sB]", len(f.asked), terse(of.since(f.here(), a.board.at)))
		}
		fmt.Fprintf(&b, "%s\nFILE: %s\n%s\n", line, term.Printable(of.name), strings.Repeat("-", 79))
	}
	_, _ = io.WriteString(a.out, b.String()+"\n") // a reader that is gone needs none
}

// close writes the table of results.
func (a *aria2) close() {
	if a.isTerminal && !a.is.IsHidden {
		_, _ = io.WriteString(a.out, "\r\x1b[K")
	}
	words := map[string]string{"OK": "(OK):download completed.", "ERR": "(ERR):error occurred.", "INPR": "(INPR):download in-progress."}
	legend, failed := "", false
	var b strings.Builder
	b.WriteString("\nDownload Results:\ngid   |stat|avg speed  |")
	isFull := a.is.Results == "full"
	if isFull {
		b.WriteString("  %|path/URI\n======+====+===========+===+" + strings.Repeat("=", 51) + "\n")
	} else {
		b.WriteString("path/URI\n======+====+===========+" + strings.Repeat("=", 55) + "\n")
	}
	for _, f := range a.files {
		fmt.Fprintf(&b, "%s|%-4s|%11s|", a.gid(f.id), f.status, terse(f.rate)+"B/s")
		if isFull {
			part := "  -"
			if f.status == "OK" {
				part = "100"
			}
			b.WriteString(part + "|")
		}
		b.WriteString(term.Printable(f.name) + "\n")
		failed = failed || f.status != "OK"
	}
	for _, status := range []string{"OK", "ERR", "INPR"} {
		if slices.ContainsFunc(a.files, func(f *readoutFile) bool { return f.status == status }) {
			legend += words[status]
		}
	}
	if a.is.Results == "hide" || len(a.files) == 0 || a.is.Results == "done" && failed {
		return
	}
	_, _ = io.WriteString(a.out, b.String()+"\nStatus Legend:\n"+legend+"\n") // a reader that is gone needs no table
}

// terse is a number of bytes as aria2 has it, without its B: one decimal below 10, cut off, and
// from 0.9 of a unit on in that unit.
func terse(n float64) string {
	names := [...]string{"", "Ki", "Mi", "Gi"}
	i := 0
	for i+1 < len(names) && n >= 922 {
		n /= 1024
		i++
	}
	if i > 0 && n < 10 {
		return strconv.FormatFloat(float64(int(n*10))/10, 'f', 1, 64) + names[i]
	}
	return strconv.Itoa(int(n)) + names[i]
}

// terseTime is a time as aria2 has it: 1h2m14s.
func terseTime(d time.Duration) (text string) {
	s := int(d.Seconds())
	if s >= 3600 {
		text = strconv.Itoa(s/3600) + "h"
	}
	if s >= 60 && s/60%60 > 0 {
		text += strconv.Itoa(s/60%60) + "m"
	}
	return text + strconv.Itoa(s%60) + "s"
}
