// Package netrc reads a user's file of users and passwords by host, ~/.netrc, as
// ftp, curl and wget do: words between blanks, of which machine, default, login,
// password, account and macdef mean something. A word may stand in double quotes,
// in which a backslash makes the next character an ordinary one, and \n, \r and \t
// what they are elsewhere (curl 7.84). A # where none of these words' values is
// expected begins a comment, which goes to the end of the line.
//
// A File does not change; its methods may be called from any goroutine.
package netrc

import (
	"errors"
	"fmt"
	"strings"
)

// What may be wrong with a file. The text around it is not quoted: it may be a
// password.
var (
	errQuote = errors.New("a quote is not closed")
	errValue = errors.New("a word is missing at the end")
)

// File is what a file says.
type File struct{ entries []entry }

// entry is what is said of a host, or of all that are not named.
type entry struct {
	host, user, password string
	all                  bool
}

// Parse reads a file's text. An error names the line, and quotes nothing.
func Parse(text string) (File, error) {
	var f File
	w := words{rest: text, line: 1}
	for {
		word, ok, err := w.next(true)
		switch {
		case err != nil:
			return File{}, fmt.Errorf("line %d: %w", w.line, err)
		case !ok:
			return f, nil
		}
		var to *string
		switch word {
		case "machine":
			f.entries = append(f.entries, entry{})
			to = &f.entries[len(f.entries)-1].host
		case "default":
			f.entries = append(f.entries, entry{all: true})
		case "login", "password":
			if len(f.entries) == 0 {
				to = new(string) // of no host
				break
			}
			to = &f.entries[len(f.entries)-1].user
			if word == "password" {
				to = &f.entries[len(f.entries)-1].password
			}
		case "account":
			to = new(string)
		case "macdef":
			w.skipMacro()
		}
		if to == nil {
			continue
		}
		if *to, ok, err = w.next(false); err == nil && !ok {
			err = errValue
		}
		if err != nil {
			return File{}, fmt.Errorf("line %d: %w", w.line, err)
		}
	}
}

// For gives user and password for a host: those of the first machine of that name and,
// unless it is empty, with that login, or of default.
func (f File) For(host, login string) (user, password string, ok bool) {
	for _, all := range []bool{false, true} {
		for _, e := range f.entries {
			if e.all == all && (all || strings.EqualFold(e.host, host)) && (login == "" || login == e.user) {
				return e.user, e.password, true
			}
		}
	}
	return "", "", false
}

// words takes a text apart.
type words struct {
	rest string
	line int // of the last word, from 1
}

// skip passes over n bytes.
func (w *words) skip(n int) {
	w.line += strings.Count(w.rest[:n], "\n")
	w.rest = w.rest[n:]
}

// next is the next word; false: there is none. Comments are passed over where there
// may be some.
func (w *words) next(comments bool) (word string, ok bool, err error) {
	for {
		w.skip(len(w.rest) - len(strings.TrimLeft(w.rest, " \t\r\n")))
		if !comments || !strings.HasPrefix(w.rest, "#") {
			break
		}
		w.skipLine()
	}
	switch {
	case w.rest == "":
		return "", false, nil
	case w.rest[0] == '"':
		word, err = w.quoted()
		return word, true, err
	}
	end := strings.IndexAny(w.rest, " \t\r\n")
	if end < 0 {
		end = len(w.rest)
	}
	word = w.rest[:end]
	w.skip(end)
	return word, true, nil
}

// quoted is a word in quotes.
func (w *words) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(w.rest); i++ {
		c := w.rest[i]
		switch {
		case c == '"':
			w.skip(i + 1)
			return b.String(), nil
		case c == '\\' && i+1 < len(w.rest):
			i++
			b.WriteByte(escaped(w.rest[i]))
		default:
			b.WriteByte(c)
		}
	}
	return "", errQuote
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
	}
	return c
}

func (w *words) skipLine() {
	end := strings.IndexByte(w.rest, '\n')
	if end < 0 {
		end = len(w.rest)
	}
	w.skip(end)
}

// skipMacro passes over ftp's commands, which end with an empty line.
func (w *words) skipMacro() {
	for w.skipLine(); w.rest != ""; w.skipLine() {
		w.skip(1)
		if line, _, _ := strings.Cut(w.rest, "\n"); strings.Trim(line, " \t\r") == "" {
			return
		}
	}
}
