// Package record keeps a run's event stream as JSON lines and gives it back as
// typed events. The first line is a header, {"event":"record","schema":1}; each
// further line is one event: its kind under "event", then its own fields.
//
// Text that is not UTF-8 is stored with U+FFFD in place of the offending bytes.
//
// Contract: a Writer and a Reader belong to one goroutine each; neither starts
// goroutines of its own.
package record

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mlget/mlget/internal/event"
)

// Schema is the version of the format that this package writes and reads. It
// changes when an event's fields change their meaning; new kinds and new fields
// leave it as it is.
const Schema = 1

// header is a record's first line.
type header struct {
	Event  string `json:"event"`
	Schema int    `json:"schema"`
}

// headerEvent is the header's kind; no event may have it.
const headerEvent = "record"

// Writer writes events as JSON lines.
type Writer struct {
	w    *bufio.Writer
	line []byte // space for the line in the making
	err  error  // the first write that failed; nothing is written after it
}

// NewWriter starts a record on w with its header. The Writer buffers; what it
// holds reaches w with Flush. It does not close w.
func NewWriter(w io.Writer) *Writer {
	rw := &Writer{w: bufio.NewWriterSize(w, 32<<10)}
	line, err := json.Marshal(header{Event: headerEvent, Schema: Schema})
	if err == nil {
		_, err = rw.w.Write(append(line, '\n'))
	}
	rw.err = err
	return rw
}

// Write appends e. An event that has no form in JSON (a number that is infinite
// or none) is left out as a whole and named by the error, and the record goes on;
// an error of the underlying writer ends it, and every later call returns it.
func (w *Writer) Write(e event.Event) error {
	if w.err != nil {
		return w.err
	}
	fields, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("record: %s: %w", e.Kind(), err)
	}
	// Every event is a struct with fields, so its JSON begins with "{" and a
	// field: the kind goes in between.
	w.line = append(w.line[:0], `{"event":"`...)
	w.line = append(w.line, e.Kind()...)
	w.line = append(w.line, `",`...)
	w.line = append(w.line, fields[1:]...)
	w.line = append(w.line, '\n')
	if _, err := w.w.Write(w.line); err != nil {
		w.err = fmt.Errorf("record: %w", err)
	}
	return w.err
}

// Flush hands everything that was written to the underlying writer.
func (w *Writer) Flush() error {
	if w.err != nil {
		return w.err
	}
	if err := w.w.Flush(); err != nil {
		w.err = fmt.Errorf("record: %w", err)
	}
	return w.err
}

// Run records every event of sub on w until the bus is closed, and returns the
// first error. It flushes whenever it has caught up, so that a run that is killed
// leaves nearly all of its record; after an error it goes on reading, so that the
// queue does not grow.
func Run(sub *event.Subscription, w io.Writer) error {
	rw := NewWriter(w)
	first := rw.Flush()
	for batch, ok := sub.Next(nil); ok; batch, ok = sub.Next(batch) {
		for _, e := range batch {
			if err := rw.Write(e); err != nil && first == nil {
				first = err
			}
		}
		if err := rw.Flush(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
