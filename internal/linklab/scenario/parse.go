package scenario

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// maxFile bounds a scenario file in bytes.
const maxFile = 1 << 20

// Parse reads a scenario in the text format:
//
//	# a comment
//	about One line for people.
//	link wlan0,down=82,rtt=16
//	link rmnet0,down=64,rtt=50,ramp=2.5
//	at 6s wlan0 down
//
// Traces are opened in files by the name given; nil means that there are none.
// Errors name the line.
func Parse(name string, r io.Reader, files fs.FS) (Scenario, error) {
	s := Scenario{Name: name}
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return s, fmt.Errorf("scenario %s: %w", name, err)
	}
	if len(text) > maxFile {
		return s, fmt.Errorf("scenario %s: larger than %d bytes", name, maxFile)
	}
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, maxFile+1)
	var lines []int // of the events, whose links may come after them
	for n := 1; sc.Scan(); n++ {
		if err := s.parseLine(sc.Text(), files); err != nil {
			return s, fmt.Errorf("scenario %s: line %d: %w", name, n, err)
		}
		if len(s.Events) > len(lines) {
			lines = append(lines, n)
		}
	}
	if err := sc.Err(); err != nil {
		return s, fmt.Errorf("scenario %s: %w", name, err)
	}
	for i, e := range s.Events {
		if err := s.CheckEvent(e); err != nil {
			return s, fmt.Errorf("scenario %s: line %d: %w", name, lines[i], err)
		}
	}
	s, err = s.Complete()
	if err != nil {
		return s, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}

func (s *Scenario) parseLine(line string, files fs.FS) error {
	line, _, _ = strings.Cut(line, "#")
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "":
		return nil
	case "about":
		s.About = rest
		return nil
	case "link":
		if len(s.Links) == MaxLinks {
			return fmt.Errorf("more than %d links", MaxLinks)
		}
		l, err := ParseLink(rest, files)
		if err != nil {
			return err
		}
		if s.has(l.Name) {
			return fmt.Errorf("link %s: named twice", l.Name)
		}
		s.Links = append(s.Links, l)
		return nil
	case "at":
		if len(s.Events) == MaxEvents {
			return fmt.Errorf("more than %d events", MaxEvents)
		}
		when, what, _ := strings.Cut(rest, " ")
		at, err := time.ParseDuration(when)
		if err != nil {
			return fmt.Errorf("time %q: write it as 6s or 1.5s", when)
		}
		e, err := ParseEvent(what)
		if err == nil {
			e.At = at
			s.Events = append(s.Events, e)
		}
		return err
	}
	return fmt.Errorf("%.40q: a line begins with about, link or at", word) // some file or other may be one long line
}

// ParseLink reads a link as NAME,key=value,... as on the command line. The
// defaults are left to Scenario.Complete.
func ParseLink(text string, files fs.FS) (Link, error) {
	parts := strings.Split(text, ",")
	l := Link{Name: strings.TrimSpace(parts[0])}
	if err := checkName(l.Name); err != nil {
		return l, err
	}
	seen := map[string]bool{}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return l, fmt.Errorf("link %s: %q: write it as key=value", l.Name, part)
		}
		if seen[key] {
			return l, fmt.Errorf("link %s: %s is given twice", l.Name, key)
		}
		seen[key] = true
		if err := l.set(key, value, files); err != nil {
			return l, fmt.Errorf("link %s: %w", l.Name, err)
		}
	}
	if !seen["down"] && !seen["trace"] {
		return l, fmt.Errorf("link %s: needs down=MBIT/S or trace=FILE", l.Name)
	}
	_, err := l.complete()
	return l, err
}

func (l *Link) set(key, value string, files fs.FS) error {
	switch key {
	case "power":
		l.Power = value
		return checkPower(value)
	case "trace":
		t, err := openTrace(files, value)
		l.Trace = t
		return err
	}
	for _, f := range l.fields() {
		if f.key != key {
			continue
		}
		v, err := number(key, value)
		if err == nil {
			err = within(key, v, f.lo, f.hi)
		}
		if err != nil {
			return err
		}
		f.set(v)
		return nil
	}
	return fmt.Errorf("%q: the keys are down, up, rtt, queue, loss, ramp, ramp0, vary, trace, power and perconn", key)
}

// ParseEvent reads what happens, without the time: "wlan0 rate 2".
func ParseEvent(text string) (Event, error) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return Event{}, fmt.Errorf("event %q: write it as LINK down, up, gone, back, rate, loss, rtt or carrier", text)
	}
	e, what, args := Event{Link: f[0]}, f[1], f[2:]
	words := strings.Join(f[1:], " ")
	for k, name := range kindNames() {
		e.Kind = Kind(k)
		switch {
		case words == name && !e.Kind.takesValue():
			return e, nil
		case what == name && !e.Kind.takesValue():
			return e, fmt.Errorf("event %q: %s takes no value", text, what)
		case what != name:
			continue
		}
		if len(args) != 1 {
			return e, fmt.Errorf("event %q: %s takes one number", text, what)
		}
		v, err := number(what, args[0])
		e.Value = v
		return e, err
	}
	if what == "carrier" {
		return e, fmt.Errorf("event %q: carrier is on or off", text)
	}
	return e, fmt.Errorf("event %q: %q is not down, up, gone, back, rate, loss, rtt or carrier", text, what)
}

func openTrace(files fs.FS, name string) (*Trace, error) {
	if files == nil {
		return nil, fmt.Errorf("trace=%s: no traces can be read here", name)
	}
	f, err := files.Open(path.Clean(name))
	if err != nil {
		return nil, fmt.Errorf("trace=%s: %w", name, err)
	}
	t, err := ParseTrace(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return nil, fmt.Errorf("trace=%s: %w", name, err)
	}
	return t, nil
}

func number(key, text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%s=%s: not a number", key, text)
	}
	return v, nil
}
