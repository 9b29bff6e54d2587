// Package configfile reads a file of options in curl's form (curl -K): one a line, as
//
//	name = value
//	name: value
//	name value
//	--name value
//	-n value
//	name = "a value with blanks, \" and \t"
//	name
//
// A line that begins with # is a comment, and so is what follows a # behind a value. Any
// name is taken: what it means is for others to say.
package configfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	maxLine    = 64 << 10 // bytes
	maxOptions = 10_000
)

// Option is one line of a file.
type Option struct {
	Line     int    // from 1
	Name     string // without dashes
	Short    bool   // Name is a letter that stood behind one dash, perhaps with its value
	Value    string
	HasValue bool
}

// Error is a mistake in a file. It quotes nothing: there may be a password.
type Error struct {
	Line int // from 1
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the mistake.
func (e *Error) Unwrap() error { return e.Err }

// What may be wrong with a line.
var (
	errName  = errors.New("an option's name is missing")
	errQuote = errors.New("a quote is not closed")
	errBlank = errors.New("a value with blanks stands between double quotes")
	errMany  = fmt.Errorf("there are more than %d options", maxOptions)
)

// Parse reads a file. A mistake is an *Error.
func Parse(in io.Reader) (all []Option, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		text := lines.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, "\ufeff")
		}
		text = strings.Trim(text, blanks)
		if text == "" || text[0] == '#' {
			continue
		}
		o, err := option(text)
		if err == nil && len(all) == maxOptions {
			err = errMany
		}
		if err != nil {
			return nil, &Error{n, err}
		}
		o.Line = n
		all = append(all, o)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &Error{n + 1, fmt.Errorf("it is longer than %d bytes", maxLine)}
	}
	return all, lines.Err()
}

const blanks = " \t\r\v\f"

// option reads one line, which is not empty.
func option(text string) (o Option, err error) {
	ends := blanks
	switch {
	case strings.HasPrefix(text, "--"):
		text = text[2:]
	case text[0] == '-':
		text, o.Short = text[1:], true
	default: // = and : end a name that has no dashes, as in curl
		ends += "=:"
	}
	end := strings.IndexAny(text, ends)
	if end < 0 {
		end = len(text)
	}
	if o.Name = text[:end]; o.Name == "" || o.Name[0] == '-' {
		return o, errName
	}
	value := strings.TrimLeft(text[end:], ends)
	o.HasValue = value != "" && value[0] != '#'
	if !o.HasValue {
		return o, nil
	}
	o.Value, value, err = word(value)
	if rest := strings.TrimLeft(value, blanks); err == nil && rest != "" && rest[0] != '#' {
		err = errBlank
	}
	return o, err
}

// word reads a value, in quotes or not, and gives what follows it.
func word(text string) (value, rest string, err error) {
	if text[0] != '"' {
		end := strings.IndexAny(text, blanks)
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			return b.String(), text[i+1:], nil
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(escaped(text[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", "", errQuote
}

// escaped is what stands for a character behind a backslash.
func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'v':
		return '\v'
	}
	return c
}
