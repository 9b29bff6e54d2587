package joblist

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds a line of a list in bytes. Lines of many mirrors are long.
const maxLine = 1 << 20

// Entry is one file of a list.
type Entry struct {
	Line     int    // of its URL, from 1
	URL      string // as it stands there
	Mirrors  int    // how many more URLs stand on its line
	Out, Dir string // name and directory; "": not said
	Checksum string // "ALGO=HEX"; "": none
	// Unknown are the options of this entry that mean nothing here and were in no
	// entry before.
	Unknown []Option
}

// Option is an option of a list, and where it stands.
type Option struct {
	Line int // from 1
	Key  string
}

// Error is a mistake in a list.
type Error struct {
	Line int // from 1
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the mistake.
func (e *Error) Unwrap() error { return e.Err }

// What may be wrong with a list.
var (
	errTooLong = fmt.Errorf("it is longer than %d bytes", maxLine)
	errNoURL   = errors.New("an option stands before the first URL")
	errRepeat  = errors.New("this option was given to the URL already")
	errEmpty   = errors.New("this option has no value")
)

// Reader reads a list entry by entry, and keeps no more of it than that. A list
// has one URL a line, or is aria2's: several URLs on a line, with tabs between,
// are mirrors of one file, and indented lines below are its options, of which
// out=, dir= and checksum= are known. Blank lines and those that begin with # are
// passed over.
type Reader struct {
	in      *bufio.Reader
	line    int // of what was read last
	next    Entry
	has     bool // next is begun
	err     error
	unknown map[string]bool
}

// NewReader reads the list in.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 16<<10), unknown: make(map[string]bool)}
}

// Next gives the next entry. At the end of the list that is io.EOF; a mistake is
// an *Error, and nothing comes behind it.
func (r *Reader) Next() (Entry, error) {
	for r.err == nil {
		text, err := r.readLine()
		if err != nil {
			r.err = err
			break
		}
		if r.line == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		key, value, isOption := option(text)
		text = strings.TrimSpace(text)
		switch {
		case text == "" || text[0] == '#':
		case isOption:
			if err := r.set(key, value); err != nil {
				r.err = &Error{r.line, err}
			}
		default:
			done, had := r.next, r.has
			r.begin(text)
			if had {
				return done, nil
			}
		}
	}
	if r.has && errors.Is(r.err, io.EOF) {
		r.has = false
		return r.next, nil
	}
	return Entry{}, r.err
}

// begin makes a line of URLs the next entry.
func (r *Reader) begin(text string) {
	first, mirrors, _ := strings.Cut(text, "\t")
	// A part of a line would keep all of it.
	r.next, r.has = Entry{Line: r.line, URL: strings.Clone(strings.TrimSpace(first))}, true
	for m := range strings.SplitSeq(mirrors, "\t") {
		if strings.TrimSpace(m) != "" {
			r.next.Mirrors++
		}
	}
}

// set takes an option of the present entry.
func (r *Reader) set(key, value string) error {
	if !r.has {
		return errNoURL
	}
	var to *string
	switch key {
	case "out":
		to = &r.next.Out
	case "dir":
		to = &r.next.Dir
	case "checksum":
		to = &r.next.Checksum
	default:
		const most = 100 // beyond that, somebody means no good
		if !r.unknown[key] && len(r.unknown) < most {
			r.unknown[key] = true
			r.next.Unknown = append(r.next.Unknown, Option{r.line, strings.Clone(key)})
		}
		return nil
	}
	switch {
	case value == "":
		return errEmpty
	case *to != "":
		return errRepeat
	}
	*to = strings.Clone(value)
	return nil
}

// option takes an indented line apart if it is one: what people indent may as
// well be a URL.
func option(text string) (key, value string, ok bool) {
	if text == "" || text[0] != ' ' && text[0] != '\t' {
		return "", "", false
	}
	key, value, ok = strings.Cut(strings.TrimSpace(text), "=")
	if !ok || key == "" || len(key) > 64 {
		return "", "", false
	}
	for i := range len(key) {
		if c := key[i]; c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return "", "", false
		}
	}
	return key, strings.TrimSpace(value), true
}

// readLine gives the next line without its end.
func (r *Reader) readLine() (string, error) {
	var line []byte
	for {
		part, err := r.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", &Error{r.line + 1, errTooLong}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return "", err
		}
		r.line++
		return string(bytes.TrimRight(line, "\r\n")), nil
	}
}
