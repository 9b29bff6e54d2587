// Package habits reads a command line before its flags are: words of wget, curl and aria2
// become mlget's, have no effect where mlget does so anyway, or are refused with a hint.
// What a letter means where these differ depends on what stands beside it.
package habits

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
)

// Translate gives a command line in mlget's own words. known are mlget's flags; what is
// in neither stays as it is.
func Translate(words []string, known *pflag.FlagSet) ([]string, error) {
	line := &commandLine{words: words, known: known, rows: table()}
	line.recursive = line.has("recursive", 'r') || line.mirrors()
	for line.at < len(line.words) {
		if err := line.next(); err != nil {
			return nil, err
		}
	}
	if at := line.document; at > 0 && line.arguments == 0 && isURL(line.out[at]) { // curl -LO URL
		line.out = slices.Delete(line.out, at-1, at)
	}
	return line.out, nil
}

// commandLine is a command line that is being translated.
type commandLine struct {
	words     []string
	at        int // the next word
	out       []string
	known     *pflag.FlagSet
	rows      []row
	recursive bool // -r is given
	document  int  // where in out the value of -O is; 0: there is none
	arguments int
}

// has says whether a flag without a value is given, by its name or in a group.
func (l *commandLine) has(name string, letter byte) bool {
	for _, w := range l.words {
		switch {
		case w == "--":
			return false
		case w == "--"+name:
			return true
		case len(w) > 1 && w[0] == '-' && w[1] != '-':
			if before, _, ok := strings.Cut(w[1:], string(letter)); ok && l.allBool(before) {
				return true
			}
		}
	}
	return false
}

// mirrors says whether wget's -m is given, which curl has for something else.
func (l *commandLine) mirrors() bool {
	for i, w := range l.words {
		switch {
		case w == "--":
			return false
		case w == "--mirror", w == "-m" && (i+1 == len(l.words) || !isNumber(l.words[i+1])):
			return true
		}
	}
	return false
}

// allBool says whether no letter of a group takes a value.
func (l *commandLine) allBool(group string) bool {
	for i := range len(group) {
		if f := l.known.ShorthandLookup(group[i : i+1]); f == nil || f.NoOptDefVal == "" {
			return false
		}
	}
	return true
}

// next translates a word, with the value behind it.
func (l *commandLine) next() error {
	word := l.words[l.at]
	l.at++
	switch {
	case word == "--":
		l.out = append(append(l.out, word), l.words[l.at:]...)
		l.arguments += len(l.words) - l.at
		l.at = len(l.words)
		return nil
	case strings.HasPrefix(word, "--"):
		return l.long(word)
	case len(word) > 1 && word[0] == '-':
		return l.group(word)
	}
	l.out = append(l.out, word)
	l.arguments++
	return nil
}

// peek is the word behind the flag, unless it is a flag.
func (l *commandLine) peek() (string, bool) {
	if l.at == len(l.words) || len(l.words[l.at]) > 1 && l.words[l.at][0] == '-' {
		return "", false
	}
	return l.words[l.at], true
}

// long translates --name, --name=value, or --name value.
func (l *commandLine) long(word string) error {
	name, value, attached := strings.Cut(word[2:], "=")
	if f := l.known.Lookup(name); f != nil {
		return l.own(f, word, name, value, attached)
	}
	r := l.find(name, value)
	if r == nil || len(name) < 2 { // letters have one dash
		l.out = append(l.out, word)
		return nil
	}
	if r.value != "" && r.value[0] != '[' && !attached {
		if l.at == len(l.words) {
			return exit.Usagef("flag needs an argument: --%s", name)
		}
		value, attached = l.words[l.at], true
		l.at++
	}
	if r.value != "" && r.value[0] == '[' && !attached {
		value = "true"
	}
	return l.apply(name, value, "--"+name)
}

// own takes a flag of mlget's, in whose value there may be another tool's habit.
func (l *commandLine) own(f *pflag.Flag, word, name, value string, attached bool) error {
	l.out = append(l.out, word)
	switch {
	case f.NoOptDefVal != "":
		if next, ok := l.peek(); ok && !attached && (next == "true" || next == "false") {
			return exit.UsageError{Err: errors.New("--" + name + " takes no word behind it"), Hint: "--" + name + " alone, or --" + name + "=" + next}
		}
		return nil
	case !attached && l.at < len(l.words):
		value = l.words[l.at]
		l.out = append(l.out, value)
		l.at++
	}
	if name == "progress" {
		if kind, ok := progressOf(value); ok { // wget's
			l.out = l.out[:len(l.out)-1]
			if !attached {
				l.out = l.out[:len(l.out)-1]
			}
			l.out = append(l.out, "--progress="+kind)
		}
	}
	return nil
}

// progressOf translates wget's --progress.
func progressOf(value string) (kind string, ok bool) {
	kind, _, _ = strings.Cut(value, ":")
	switch {
	case kind == "dot":
		return "plain", true
	case kind == "bar" && value != "bar":
		return "bar", true
	}
	return "", false
}

// find is the row of a name that is for this value.
func (l *commandLine) find(name, value string) *row {
	var first *row
	for i := range l.rows {
		r := &l.rows[i]
		if !r.has(name) {
			continue
		}
		if r.when == "" || r.when == value {
			return r
		}
		if first == nil {
			first = r
		}
	}
	return first
}

// has says whether a name is one of the row's, in which * stands for any ending.
func (r *row) has(name string) bool {
	for of := range strings.FieldsSeq(r.names) {
		if begin, family := strings.CutSuffix(of, "*"); of == name || family && strings.HasPrefix(name, begin) && len(begin) > 1 {
			return true
		}
	}
	return false
}

// apply does what the table says of a name with a value.
func (l *commandLine) apply(name, value, shown string) error {
	r := l.find(name, value)
	switch {
	case r == nil, r.when != "" && r.when != value:
		return exit.Usagef("%s takes no %q", shown, value)
	case r.hint != "":
		return exit.UsageError{Err: errors.New(shown + " is not a flag of mlget"), Hint: r.hint}
	}
	if r.becomes == "VALUE" { // an argument
		if strings.HasPrefix(value, "-") {
			return exit.Usagef("%s: %q is no URL", shown, value)
		}
		l.arguments++
	}
	for word := range strings.FieldsSeq(r.becomes) {
		l.out = append(l.out, strings.ReplaceAll(word, "VALUE", value))
	}
	return nil
}

// hasNumber says whether text is one of aria2's letters with a number attached to it.
func hasNumber(text string) bool { return regexp.MustCompile(`^[sxk][0-9]+[KMkm]?$`).MatchString(text) }

// group translates letters in one word, -fsSL, of which the last may have a value.
func (l *commandLine) group(word string) error {
	letters := word[1:]
	switch {
	case hasNumber(letters):
		if letters[0] != 'k' && letters[1:] == "1" {
			l.out = append(l.out, "--parallelism", "1")
		}
		return nil
	case len(letters) == 2 && letters[0] == 'n' && l.find(letters, "") != nil:
		return l.apply(letters, "", word)
	}
	for i := range len(letters) {
		ended, err := l.letter(letters, i)
		if err != nil || ended {
			return err
		}
	}
	return nil
}

// letter translates the i-th letter of a group; ended: the rest was its value.
func (l *commandLine) letter(group string, i int) (ended bool, err error) {
	letter, rest := group[i:i+1], group[i+1:]
	if letter == "-" { // what follows would be a long name
		return true, exit.Usagef("-%s: there is no flag called -", group)
	}
	value, attached := rest, rest != ""
	if !attached {
		value, _ = l.peek()
	}
	words, took, err := l.inContext(letter, group, value, attached)
	switch {
	case err != nil:
		return true, err
	case took > 0:
		l.out = append(l.out, words...)
		if took == tookValue && !attached {
			l.at++
		}
		return took == tookValue, nil
	}
	if f := l.known.ShorthandLookup(letter); f != nil {
		if f.NoOptDefVal != "" {
			l.out = append(l.out, "-"+letter)
			return false, nil
		}
		l.out = append(l.out, "-"+letter+rest)
		if !attached && l.at < len(l.words) {
			if letter == "O" {
				l.document = len(l.out)
			}
			l.out = append(l.out, l.words[l.at])
			l.at++
		}
		return true, nil
	}
	r := l.find(letter, value)
	if r == nil {
		l.out = append(l.out, "-"+group[i:]) // pflag reports that it is unknown
		return true, nil
	}
	if r.value == "" {
		return false, l.apply(letter, "", "-"+letter)
	}
	if !attached && l.at < len(l.words) {
		value = l.words[l.at]
		l.at++
	}
	return true, l.apply(letter, value, "-"+letter)
}

// isURL says whether a word is a URL rather than the name of a file.
func isURL(word string) bool {
	if strings.Contains(word, "://") {
		return true
	}
	host, path, ok := strings.Cut(word, "/")
	_, err := os.Stat(word)
	return ok && path != "" && err != nil && len(host) > 1 && strings.ContainsAny(host[1:], ".:") && !strings.HasPrefix(host, ".")
}

// isFile says whether a word, in a place where a URL might stand, names a file.
func isFile(word string) bool {
	if strings.Contains(word, "://") {
		return false
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() ||
		strings.HasSuffix(word, ".txt") || strings.HasSuffix(word, ".jar") || strings.Contains(word, "cookie") && !strings.ContainsAny(word, "/.")
}
