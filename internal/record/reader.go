package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/mlget/mlget/internal/event"
)

// maxLine bounds a line of a record, in bytes, so that a hostile one cannot fill
// the memory. The longest honest line, a step that starts requests on every
// link, is below a hundredth of it.
const maxLine = 1 << 20

// Errors that say why a record cannot be read.
var (
	ErrNotRecord = errors.New("not a record of events")
	ErrSchema    = errors.New("record of a later schema")
	ErrLineLong  = errors.New("line too long")
)

// Reader reads a record.
type Reader struct {
	r         *bufio.Reader
	line      int // lines read so far
	skipped   int
	truncated bool
	passed    [][]byte // how the lines begin that are passed over
	err       error    // what ended the reading; io.EOF at the record's end
	long      []byte   // space for lines that do not fit r's buffer
}

// NewReader reads the header of a record. Its error is ErrNotRecord, ErrSchema or
// that of r.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{r: bufio.NewReaderSize(r, 32<<10)}
	line, _, err := rd.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		if errors.Is(err, ErrLineLong) {
			return nil, ErrNotRecord
		}
		return nil, fmt.Errorf("record: %w", err)
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil || h.Event != headerEvent || h.Schema < 1 {
		return nil, ErrNotRecord
	}
	if h.Schema > Schema {
		return nil, fmt.Errorf("%w: %d, this version reads up to %d", ErrSchema, h.Schema, Schema)
	}
	return rd, nil
}

// Pass passes over events of these kinds without looking at them, which costs a
// tenth of reading them: a record is mostly steps, which few want.
func (r *Reader) Pass(kinds ...event.Event) {
	for _, e := range kinds {
		r.passed = append(r.passed, []byte(`{"event":"`+e.Kind()+`"`))
	}
}

// Next gives the next event, passing over kinds that it does not know. At the
// end its error is io.EOF, also where the last line was cut off (see Truncated);
// a line in the middle that cannot be read is an error that names the line.
// Errors are final.
func (r *Reader) Next() (event.Event, error) {
	for r.err == nil {
		line, whole, err := r.readLine()
		if err != nil {
			r.err = err
			if !errors.Is(err, io.EOF) {
				r.err = fmt.Errorf("record: line %d: %w", r.line, err)
			}
			break
		}
		if len(bytes.TrimSpace(line)) == 0 || whole && r.passes(line) {
			continue
		}
		e, err := decode(line)
		switch {
		case err == nil && e == nil:
			r.skipped++
		case err == nil:
			return e, nil
		case !whole:
			r.truncated = true
			r.err = io.EOF
		default:
			r.err = fmt.Errorf("record: line %d: %w", r.line, err)
		}
	}
	return nil, r.err
}

// Skipped is how many events were passed over because this version does not
// know their kind.
func (r *Reader) Skipped() int { return r.skipped }

// Truncated says that the last line was cut off: the run, or the copying of its
// record, was ended by force. It is known once Next has returned io.EOF.
func (r *Reader) Truncated() bool { return r.truncated }

func (r *Reader) passes(line []byte) bool {
	for _, begin := range r.passed {
		if bytes.HasPrefix(line, begin) {
			return true
		}
	}
	return false
}

// readLine gives the next line without its end; it is valid until the next call.
// whole is false when the line has no end.
func (r *Reader) readLine() (line []byte, whole bool, err error) {
	r.line++
	r.long = r.long[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		if len(r.long)+len(part) > maxLine {
			return nil, false, ErrLineLong
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			r.long = append(r.long, part...)
			continue
		}
		if len(r.long) > 0 {
			r.long = append(r.long, part...)
			part = r.long
		}
		switch {
		case err == nil:
			return part[:len(part)-1], true, nil
		case errors.Is(err, io.EOF) && len(part) > 0:
			return part, false, nil
		default:
			return nil, false, err
		}
	}
}

// decode gives the event that line holds, or nil where its kind is not known.
func decode(line []byte) (event.Event, error) {
	kind, err := kindOf(line)
	if err != nil {
		return nil, err
	}
	switch kind {
	case event.RunStarted{}.Kind():
		return fields[event.RunStarted](line)
	case event.FileStarted{}.Kind():
		return fields[event.FileStarted](line)
	case event.ObjectKnown{}.Kind():
		return fields[event.ObjectKnown](line)
	case event.LinkJoined{}.Kind():
		return fields[event.LinkJoined](line)
	case event.LinkChanged{}.Kind():
		return fields[event.LinkChanged](line)
	case event.ConnOpened{}.Kind():
		return fields[event.ConnOpened](line)
	case event.RequestStarted{}.Kind():
		return fields[event.RequestStarted](line)
	case event.BytesDiscarded{}.Kind():
		return fields[event.BytesDiscarded](line)
	case event.RequestEnded{}.Kind():
		return fields[event.RequestEnded](line)
	case event.Sample{}.Kind():
		return fields[event.Sample](line)
	case event.SchedulerStarted{}.Kind():
		return fields[event.SchedulerStarted](line)
	case event.Step{}.Kind():
		return fields[event.Step](line)
	case event.Tuned{}.Kind():
		return fields[event.Tuned](line)
	case event.Notice{}.Kind():
		return fields[event.Notice](line)
	case event.PowerSource{}.Kind():
		return fields[event.PowerSource](line)
	case event.Power{}.Kind():
		return fields[event.Power](line)
	case event.Usage{}.Kind():
		return fields[event.Usage](line)
	case event.FileEnded{}.Kind():
		return fields[event.FileEnded](line)
	case event.RunEnded{}.Kind():
		return fields[event.RunEnded](line)
	case "":
		return nil, errors.New(`no "event"`)
	default:
		if !json.Valid(line) {
			return nil, fmt.Errorf("%s: not JSON", kind)
		}
		return nil, nil
	}
}

// kindOf is the kind of the event that line holds. A Writer puts it first, where it
// is found without reading all of the line.
func kindOf(line []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(line, []byte(`{"event":"`)); ok {
		if end := bytes.IndexAny(rest, `"\`); end > 0 && rest[end] == '"' {
			return string(rest[:end]), nil
		}
	}
	var k struct {
		Event string `json:"event"`
	}
	if err := json.Unmarshal(line, &k); err != nil {
		return "", err
	}
	return k.Event, nil
}

func fields[E event.Event](line []byte) (event.Event, error) {
	var e E
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Kind(), err)
	}
	return e, nil
}
