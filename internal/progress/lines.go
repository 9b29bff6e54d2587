package progress

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Lines come by the time that the events name, not by a clock: samples arrive several times a
// second, or every five seconds while the consumer of a stream pauses, and a simulated run shows
// the lines that a real one would.
const (
	plainInterval = 5 * scheduler.Second
	jsonInterval  = 1 * scheduler.Second
)

// ticker says when a line is due.
type ticker struct{ last scheduler.Time }

// due says whether a line is due after e.
func (t *ticker) due(e event.Event, interval scheduler.Time) bool {
	switch e := e.(type) {
	case event.Sample:
		if e.At-t.last >= interval {
			t.last = e.At
			return true
		}
	case event.RunEnded:
		return true
	}
	return false
}

// plain writes a line of text now and then.
type plain struct {
	noticesOnly
	board board
	ticks ticker
}

func (p *plain) add(e event.Event) {
	p.board.add(e)
	if p.ticks.due(e, plainInterval) {
		_, _ = io.WriteString(p.w, p.board.line())
	}
}

// line says in one line where the run stands.
func (b *board) line() string {
	var s strings.Builder
	s.WriteString("mlget: ")
	if part, known := b.fraction(); known {
		fmt.Fprintf(&s, "%s, ", percent(part))
	}
	s.WriteString(units.Bytes(b.done()))
	if size, known := b.size(); known && (b.missing == 0 || !b.over) { // at the end it would seem to be all
		s.WriteString(" of " + units.Bytes(size))
	}
	if b.files > 1 {
		s.WriteString(", " + b.fileCount())
	}
	s.WriteString(", " + units.Mbit(b.shownTotal()))
	if d, known := b.left(); known && d > 0 {
		s.WriteString(", " + units.Clock(d) + " left")
	}
	if seconds, known := b.linkDelta(); known {
		s.WriteString(", Link Δ " + short(seconds))
	}
	if watts, source, known := b.watts(); known {
		s.WriteString(", " + short1(watts) + " W (" + term.Printable(source) + ")")
	}
	for i, l := range b.links {
		s.WriteString("; " + term.Printable(l.name) + " " + units.Mbit(b.shownRate(i)))
		if word := stateWord(l.state); word != "" {
			s.WriteString(" (" + word + ")")
		}
	}
	s.WriteByte('\n')
	return s.String()
}

// fileCount is how many of the files are there.
func (b *board) fileCount() string {
	there := b.ended - b.failed
	s := fmt.Sprintf("%d/%d files", there, b.files)
	if b.open {
		s = fmt.Sprintf("%d files", there)
		if there == 1 {
			s = "1 file"
		}
	}
	if b.failed > 0 {
		s += fmt.Sprintf(", %d failed", b.failed)
	}
	return s
}

// percent rounds down: 100 % is said when every byte is there and not before.
func percent(part float64) string { return fmt.Sprintf("%d %%", int(math.Floor(part*100))) }

// stateWord names a state that is worth a word.
func stateWord(s event.LinkState) string {
	switch s {
	case event.LinkBanned, event.LinkLost, event.LinkCapped:
		return string(s)
	case event.LinkUsed, event.LinkUnused:
	}
	return ""
}

// progressLine is a line of --progress json. Its names and units are those of the
// report where both have them.
type progressLine struct {
	Event          string   `json:"event"`   // "progress"
	Seconds        float64  `json:"seconds"` // since the run began
	SizeBytes      int64    `json:"size_bytes"`
	DoneBytes      int64    `json:"done_bytes"` // resumed ones included
	ThroughputMbps float64  `json:"throughput_mbps"`
	LeftSeconds    *float64 `json:"left_seconds"` // null: cannot be told

	// LinkDeltaSeconds is what Link Δ will be, at the present rates; null: cannot be told.
	LinkDeltaSeconds *float64 `json:"link_delta_seconds"`
	PowerWatts       *float64 `json:"power_watts"` // the last reading; null: there is none
	PowerSource      string   `json:"power_source,omitempty"`

	Files       int            `json:"files"`
	FilesEnded  int            `json:"files_ended"`
	FilesFailed int            `json:"files_failed"`
	Links       []progressLink `json:"links"`
}

type progressLink struct {
	Name           string          `json:"name"`
	State          event.LinkState `json:"state"`
	Bytes          int64           `json:"bytes"`
	ThroughputMbps float64         `json:"throughput_mbps"` // now
}

type noticeJSON struct {
	Event   string `json:"event"` // "notice"
	Warning bool   `json:"warning"`
	Text    string `json:"text"`
}

// jsonLines writes an object now and then, and one for each notice: a program
// that reads the stream meets nothing but JSON.
type jsonLines struct {
	w     io.Writer
	board board
	ticks ticker
}

func (j *jsonLines) add(e event.Event) {
	j.board.add(e)
	if j.ticks.due(e, jsonInterval) {
		j.write(j.board.progressLine())
	}
}

func (j *jsonLines) notice(text string, warning bool) {
	j.write(noticeJSON{Event: "notice", Warning: warning, Text: text})
}

func (j *jsonLines) write(line any) {
	if data, err := json.Marshal(line); err == nil {
		_, _ = j.w.Write(append(term.HarmlessJSON(data), '\n'))
	}
}

func (*jsonLines) close() {}

func (b *board) progressLine() progressLine {
	line := progressLine{
		Event: "progress", Seconds: round(b.at.Seconds()), SizeBytes: -1, DoneBytes: b.done(),
		ThroughputMbps: mbps(b.shownTotal()), Files: b.files, FilesEnded: b.ended, FilesFailed: b.failed,
		Links: make([]progressLink, 0, len(b.links)),
	}
	if size, known := b.size(); known {
		line.SizeBytes = size
	}
	if d, known := b.left(); known {
		seconds := round(d.Seconds())
		line.LeftSeconds = &seconds
	}
	if seconds, known := b.linkDelta(); known {
		seconds = round(seconds)
		line.LinkDeltaSeconds = &seconds
	}
	if watts, source, known := b.watts(); known {
		watts = round(watts)
		line.PowerWatts, line.PowerSource = &watts, source
	}
	for i, l := range b.links {
		line.Links = append(line.Links, progressLink{
			Name: l.name, State: b.linkState(i), Bytes: b.linkBytes(i), ThroughputMbps: mbps(b.shownRate(i)),
		})
	}
	return line
}

func mbps(bytesPerSecond float64) float64 { return round(bytesPerSecond * 8 / 1e6) }

// round cuts x to milliseconds or kbit/s; what JSON cannot hold is 0.
func round(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return math.Round(x*1000) / 1000
}
