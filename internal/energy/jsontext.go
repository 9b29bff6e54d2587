package energy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// member is a field of an object.
type member struct {
	name  string
	value json.RawMessage
}

// members reads an object field by field. Unlike a map, it notices a name that
// is there twice.
func members(dec *json.Decoder) ([]member, error) {
	open, err := dec.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	if open != json.Delim('{') {
		return nil, errors.New("must be an object: {...}")
	}
	var all []member
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := key.(string)
		if seen[name] {
			return nil, within(name, errors.New("is there twice"))
		}
		seen[name] = true
		f := member{name: name}
		if err := dec.Decode(&f.value); err != nil {
			return nil, notJSON(err)
		}
		all = append(all, f)
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err)
	}
	return all, nil
}

// number reads one from 0 to most.
func number(data json.RawMessage, most float64) (float64, error) {
	x, err := strconv.ParseFloat(string(data), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("must not be more than %g", most)
	case err != nil || !isNumber(data):
		return 0, errors.New("must be a number")
	case x < 0:
		return 0, errors.New("must not be negative")
	case x > most:
		return 0, fmt.Errorf("must not be more than %g", most)
	}
	return x, nil
}

// isNumber tells JSON's numbers from what else strconv takes for one.
func isNumber(data json.RawMessage) bool {
	return len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9')
}

// milliseconds reads a time.
func milliseconds(data json.RawMessage) (time.Duration, error) {
	x, err := number(data, maxMillisecond)
	return time.Duration(math.Round(x * float64(time.Millisecond))), err
}

// text reads a string for people.
func text(data json.RawMessage) (string, error) {
	var s string
	if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &s) != nil {
		return "", errors.New("must be a string")
	}
	if len(s) > maxText {
		return "", fmt.Errorf("must not be longer than %d bytes", maxText)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return "", errors.New("must not hold characters that do not print")
	}
	return s, nil
}

// goodName says whether a radio may have that name: what a technology or a link
// is called.
func goodName(name string) bool {
	return len(name) >= 1 && len(name) <= maxName &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
		})
}

// pathError is an error with the way to it.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + ": " + e.err.Error() }

func (e *pathError) Unwrap() error { return e.err }

// within puts a field's name before the path of an error.
func within(name string, err error) error {
	if !goodName(name) {
		name = strconv.QuoteToASCII(name[:min(len(name), maxName)])
	}
	var inner *pathError
	if errors.As(err, &inner) {
		return &pathError{path: name + "." + inner.path, err: inner.err}
	}
	return &pathError{path: name, err: err}
}

// notJSON is the decoder's error on one line.
func notJSON(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: it ends too early")
	}
	return fmt.Errorf("not JSON: %w", err)
}
