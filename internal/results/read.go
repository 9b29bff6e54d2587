// Package results keeps what a long series of measurements has come to in a file
// of JSON lines, so that a series that was interrupted goes on where it stopped:
// a header that says what it is a series of, then a line for each result, written
// as soon as it is known.
//
// What the lines hold is up to the series. A file may be anything, and counts
// only if each of its lines is what the series could have written. A File belongs
// to one goroutine.
package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Header is what the first line of a file says of its series.
type Header interface {
	// Check refuses a header that no series can have.
	Check() error
	// Settings are what must be the same for results to stand side by side, as
	// something that becomes a JSON object.
	Settings() any
}

// Result is what one line holds.
type Result interface {
	// Check refuses figures that no measurement can have.
	Check() error
}

// LongestLine bounds a line, in bytes.
const LongestLine = 1 << 16

// ErrFormat says that a file does not hold results of that series' kind.
var ErrFormat = errors.New("not a file of such results")

// Read reads a header and results. A last line without its end was being written
// when the series was interrupted: it does not count, and n is the number of bytes
// before it. What is no such file is refused with ErrFormat, an empty one too.
func Read[H Header, R Result](r io.Reader) (h H, results []R, n int64, err error) {
	in := bufio.NewReaderSize(r, LongestLine)
	for line := 1; ; line++ {
		text, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			if line == 1 {
				err = decode(text, &h)
			} else {
				var res R
				err = decode(text, &res)
				results = append(results, res)
			}
		}
		if err != nil { // also: too long, or not readable
			return h, nil, 0, fmt.Errorf("%w: line %d: %w", ErrFormat, line, err)
		}
		n += int64(len(text))
	}
	if n == 0 {
		return h, nil, 0, fmt.Errorf("%w: no header", ErrFormat)
	}
	return h, results, n, nil
}

// decode reads one line, which holds one object with known fields only.
func decode[T interface{ Check() error }](text []byte, v *T) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one object")
	}
	return (*v).Check()
}
