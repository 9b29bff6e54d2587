// Package urlglob expands curl's patterns in URLs: {one,two,three}, [1-10], [001-100],
// [0-100:10], [a-z] and [a-z:2]. A backslash before a brace or a bracket takes it as it
// is; so are empty ones and an IPv6 address in brackets.
package urlglob

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"strconv"
	"strings"
)

// Most is how many URLs a pattern may stand for.
const Most = 100_000

// Errors of Parse, behind the position in the pattern.
var (
	errOpen  = errors.New("a bracket or brace is not closed")
	errClose = errors.New("a bracket or brace is closed that is not open")
	errRange = errors.New("this is no range: want [1-10], [a-z] or [0-100:10]")
	errNest  = errors.New("braces and brackets cannot stand within braces")
	errMany  = fmt.Errorf("it stands for more than %d URLs", Most)
)

// Error says where a pattern cannot be read.
type Error struct {
	Position int // of the byte, from 1
	Err      error
}

func (e *Error) Error() string { return fmt.Sprintf("position %d: %v", e.Position, e.Err) }

// Unwrap gives what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Glob is a pattern that has been read.
type Glob struct {
	texts []string // before, between and behind the choices
	sets  []choices
	count int
}

// choices are what stands at one place of a pattern.
type choices struct {
	words []string // a set; nil: a range
	first int64    // of a range: a number, or a letter
	step  int64
	n     int // how many there are
	width int // digits of a number, at least
	alpha bool
}

func (c *choices) value(i int) string {
	v := c.first + int64(i)*c.step
	switch {
	case c.words != nil:
		return c.words[i]
	case c.alpha:
		return string(rune(v))
	}
	return fmt.Sprintf("%0*d", c.width, v)
}

// URL is one of those that a pattern stands for.
type URL struct {
	Text   string
	values []string // which choice stands at each place
}

// Name is a name for the URL's file: of the template, #1 is what stands at the pattern's first
// place, and so on; a number without a place stays as it is.
func (u URL) Name(template string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "#")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		if n, err := strconv.Atoi(rest[:digits]); err == nil && n >= 1 && n <= len(u.values) {
			b.WriteString(u.values[n-1])
		} else {
			b.WriteString("#" + rest[:digits])
		}
		template = rest[digits:]
	}
}

// Count is how many URLs there are.
func (g *Glob) Count() int { return g.count }

// All gives the URLs in curl's order: the last place changes first.
func (g *Glob) All() iter.Seq[URL] {
	return func(yield func(URL) bool) {
		for i := range g.count {
			values := make([]string, len(g.sets))
			for at, rest := len(g.sets)-1, i; at >= 0; at-- {
				values[at] = g.sets[at].value(rest % g.sets[at].n)
				rest /= g.sets[at].n
			}
			var b strings.Builder
			for at, value := range values {
				b.WriteString(g.texts[at] + value)
			}
			b.WriteString(g.texts[len(values)])
			if !yield(URL{b.String(), values}) {
				return
			}
		}
	}
}

// Parse reads a pattern. An error is an *Error, which quotes nothing.
func Parse(text string) (*Glob, error) {
	g := &Glob{count: 1}
	var plain strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		fail := func(err error) (*Glob, error) { return nil, &Error{i + 1, err} }
		if n := literal(rest); n > 0 {
			plain.WriteString(strings.TrimPrefix(rest[:n], `\`))
			i += n
			continue
		}
		var c choices
		var err error
		end := strings.IndexByte(rest, ']')
		switch {
		case rest[0] == '}' || rest[0] == ']':
			return fail(errClose)
		case rest[0] == '{':
			if c.words, end, err = words(rest); err == nil {
				c.n = len(c.words)
			}
		case end < 0:
			err = errOpen
		default:
			c, err = span(rest[1:end])
		}
		switch {
		case err != nil:
			return fail(err)
		case c.n > Most/g.count:
			return fail(errMany)
		}
		g.count *= c.n
		g.texts, g.sets = append(g.texts, plain.String()), append(g.sets, c)
		plain.Reset()
		i += end + 1
	}
	g.texts = append(g.texts, plain.String())
	return g, nil
}

// literal is how many bytes at the beginning of a text are no pattern; 0: one begins.
func literal(text string) int {
	switch {
	case strings.HasPrefix(text, "[]"), strings.HasPrefix(text, "{}"):
		return 2
	case len(text) > 1 && text[0] == '\\' && strings.IndexByte("{}[]", text[1]) >= 0:
		return 2
	case text[0] == '[':
		inside, _, closed := strings.Cut(text[1:], "]")
		if _, err := netip.ParseAddr(inside); closed && err == nil && strings.Contains(inside, ":") {
			return len(inside) + 2
		}
		return 0
	case strings.IndexByte("{}]", text[0]) >= 0:
		return 0
	}
	return 1
}

// words reads a set and where it ends.
func words(text string) (all []string, end int, err error) {
	var word strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[', ']':
			return nil, 0, errNest
		case ',', '}':
			all = append(all, word.String())
			word.Reset()
			switch {
			case c == '}':
				return all, i, nil
			case len(all) > Most:
				return nil, 0, errMany
			}
		case '\\':
			if i+1 < len(text) && strings.IndexByte(`{}[],\`, text[i+1]) >= 0 {
				i++
			}
			word.WriteByte(text[i])
		default:
			word.WriteByte(c)
		}
	}
	return nil, 0, errOpen
}

// span reads what stands between brackets.
func span(text string) (c choices, err error) {
	ends, step, stepped := strings.Cut(text, ":")
	from, to, ok := strings.Cut(ends, "-")
	c.step = 1
	if stepped {
		if c.step, err = number(step); err != nil || c.step == 0 {
			return c, errRange
		}
	}
	var last int64
	if len(from) == 1 && len(to) == 1 && isLetter(from[0]) && isLetter(to[0]) {
		c.alpha, c.first, last = true, int64(from[0]), int64(to[0])
		if last-c.first > 'z'-'a' {
			return c, errRange
		}
	} else {
		var e error
		c.first, err = number(from)
		if last, e = number(to); !ok || err != nil || e != nil {
			return c, errRange
		}
		if from[0] == '0' {
			c.width = len(from)
		}
	}
	n := (last-c.first)/c.step + 1
	switch {
	case last < c.first, last == c.first && c.step != 1, last > c.first && c.step > last-c.first:
		return c, errRange
	case n > Most:
		return c, errMany
	}
	c.n = int(n)
	return c, nil
}

// number reads one of at most 18 digits.
func number(text string) (int64, error) {
	if len(text) > 18 || strings.Trim(text, "0123456789") != "" {
		return 0, errRange
	}
	return strconv.ParseInt(text, 10, 64)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
