package habits

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/exit"
)

// The part of the command line that inContext has used.
const (
	tookNothing = iota
	tookLetter
	tookValue // and the value behind it
)

// isSize says whether text is a number of bytes as wget, curl and aria2 write it.
func isSize(text string) bool { return regexp.MustCompile(`^[0-9]+[KMGkmg]$`).MatchString(text) }

// isByteRange says whether text is a value of curl's -r.
func isByteRange(text string) bool {
	return regexp.MustCompile(`^([0-9]+-[0-9]*|-[0-9]+)(,[0-9-]+)*$`).MatchString(text)
}

// inContext resolves a letter that means different things in wget, curl and aria2 by the words
// beside it: words is its translation. value is attached to the letter, or the word after it.
func (l *commandLine) inContext(letter, group, value string, attached bool) (words []string, took int, err error) {
	refuse := func(what, hint string) ([]string, int, error) {
		return nil, tookNothing, exit.UsageError{Err: errors.New("-" + letter + " " + what), Hint: hint}
	}
	value = strings.TrimPrefix(value, "=") // -p=4
	switch letter {
	case "A":
		if l.recursive {
			return []string{"--accept", value}, tookValue, l.needs(letter, value, attached)
		}
		return []string{"--user-agent", value}, tookValue, l.needs(letter, value, attached)
	case "R":
		if l.recursive {
			return []string{"--reject", value}, tookValue, l.needs(letter, value, attached)
		}
	case "O":
		if value == "" || strings.Contains(value, "://") || strings.Trim(rest(group, letter), "JL") == "" && attached {
			return nil, tookLetter, nil // curl's: the file is named as its URL
		}
	case "S":
		if strings.ContainsAny(group, "sf") { // curl's --show-error
			return nil, tookLetter, nil
		}
	case "b":
		switch {
		case isSize(value):
			return refuse("is a cookie", "--block-size "+value+" is the size of one read and one write")
		case value == "" || isURL(value):
			return refuse("is a cookie", "nohup mlget URL & goes on without a terminal")
		}
	case "c":
		if !attached && (isFile(value) && l.hasURLBehind() || isJar(value) && l.hasURLBut(value)) {
			return refuse("continues a file, and takes none", "-b FILE sends the cookies of a file, --save-cookies FILE writes them")
		}
	case "d":
		info, err := os.Stat(value)
		if strings.HasPrefix(value, "/") || strings.HasPrefix(value, ".") || err == nil && info.IsDir() {
			return refuse("sends data", "-P DIR saves in a directory, and makes it; --post-data sends what begins like a path")
		}
	case "e":
		switch {
		case value == "robots=off" || value == "robots=0":
			return []string{"--robots=off"}, tookValue, nil
		case isURL(value):
		case strings.Contains(value, "="):
			return refuse("is the referer", "there is no .wgetrc: write the flag itself")
		}
	case "i":
		if isURL(value) && !strings.HasPrefix(value, "file:") {
			return refuse("reads URLs from a file, and "+value+" is none", "-S shows the server's headers; a URL stands by itself")
		}
	case "k":
		switch {
		case l.recursive:
			return refuse("does not verify certificates, and converts no links", "--insecure, if that is meant")
		case !attached && isSize(value):
			return refuse("does not verify certificates, and takes no size", "pieces are as large as suits the links")
		}
	case "l":
		if isNumber(value) {
			return refuse("names links: "+value+" is none", "--level "+value+" is how many pages deep -r goes")
		}
	case "m":
		if isNumber(value) { // curl's
			return []string{"--max-time", value}, tookValue, nil
		}
	case "p":
		if value != "auto" && !isNumber(value) {
			return refuse("is how many connections a link has for a file: "+orNothing(value)+" is no number", "mlget fetches files, and no pages with what they show")
		}
	case "r":
		if !attached && isByteRange(value) {
			return refuse("fetches directories", "only whole files are fetched, and no ranges of them")
		}
	case "s":
		if !attached && isNumber(value) && l.hasURLBehind() {
			return refuse("says nothing, and takes no number", "each link has as many connections as help; -p N sets it")
		}
	case "w":
		if isNumber(value) {
			return refuse("is a format to print", "--wait "+value+" is the pause between files")
		}
	case "x":
		if isNumber(value) { // aria2's
			return l.parallelism(value), tookValue, nil
		}
	}
	return nil, tookNothing, nil
}

// parallelism translates aria2's number of connections.
func (l *commandLine) parallelism(n string) []string {
	if n == "1" {
		return []string{"--parallelism", "1"}
	}
	return nil // each link has as many as help
}

// needs is an error where a letter's value is missing.
func (l *commandLine) needs(letter, value string, attached bool) error {
	if value == "" && !attached && l.at == len(l.words) {
		return exit.Usagef("flag needs an argument: '%s' in -%s", letter, letter)
	}
	return nil
}

// isJar says whether a word names a file where -c stands before it, rather than a host: it
// has directories, and the first is no host's name.
func isJar(word string) bool {
	first, _, ok := strings.Cut(word, "/")
	return isFile(word) || ok && word != "" && first != "localhost" && !strings.ContainsAny(first, ".:[")
}

// hasURLBut says whether another word of the line than this one is a URL.
func (l *commandLine) hasURLBut(word string) bool {
	return slices.ContainsFunc(l.words, func(w string) bool { return w != word && isURL(w) })
}

// hasURLBehind says whether a word behind the next one may be a URL.
func (l *commandLine) hasURLBehind() bool {
	return l.at+1 < len(l.words) && slices.ContainsFunc(l.words[l.at+1:], func(w string) bool {
		return !strings.HasPrefix(w, "-") && strings.ContainsAny(w, "/.")
	})
}

func rest(group, letter string) string {
	_, after, _ := strings.Cut(group, letter)
	return after
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789.") == "" }

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}
