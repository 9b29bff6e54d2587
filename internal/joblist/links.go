package joblist

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Link is a link of a page.
type Link struct {
	Href string // as it is meant, entities decoded
	// Size is what the page says of it, bytes, where that is exact; else -1. It is
	// a hint: pages are older than what they are about.
	Size int64
}

// Links finds the links of an HTML page in their order, as many as most. It
// understands what servers make of directories, and of anything else as much as
// it must not to be led astray: comments, scripts, quotes.
func Links(page []byte, most int) []Link {
	var links []Link
	for len(links) < most {
		at := bytes.IndexByte(page, '<')
		if at < 0 {
			break
		}
		page = page[at+1:]
		switch {
		case bytes.HasPrefix(page, []byte("!--")):
			page = behind(page, "-->")
		case isTag(page, "script"):
			page = behind(page, "</script")
		case isTag(page, "style"):
			page = behind(page, "</style")
		case isTag(page, "a"):
			var href string
			var ok bool
			if href, ok, page = attribute(page[1:], "href"); ok {
				links = append(links, Link{decode(href), sizeBehind(page)})
			}
		}
	}
	return links
}

// behind is what follows the first end in page, whatever its case.
func behind(page []byte, end string) []byte {
	for {
		at := bytes.IndexByte(page, end[0])
		if at < 0 {
			return nil
		}
		page = page[at:]
		if hasPrefixFold(page, end) {
			return page[len(end):]
		}
		page = page[1:]
	}
}

// isTag says whether page begins with the name of that element.
func isTag(page []byte, name string) bool {
	return hasPrefixFold(page, name) && len(page) > len(name) && (isSpace(page[len(name)]) || page[len(name)] == '>')
}

// hasPrefixFold is HasPrefix whatever the case of letters.
func hasPrefixFold(page []byte, prefix string) bool {
	return len(page) >= len(prefix) && strings.EqualFold(string(page[:len(prefix)]), prefix)
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// attribute finds the first attribute of that name in a tag whose name has been
// read, and gives what is behind the tag.
func attribute(tag []byte, want string) (value string, ok bool, rest []byte) {
	for {
		for len(tag) > 0 && (isSpace(tag[0]) || tag[0] == '/') {
			tag = tag[1:]
		}
		if len(tag) == 0 {
			return value, ok, nil
		}
		if tag[0] == '>' {
			return value, ok, tag[1:]
		}
		n := 1 // whatever it begins with, an = too
		for n < len(tag) && !isSpace(tag[n]) && tag[n] != '=' && tag[n] != '>' && tag[n] != '/' {
			n++
		}
		name := tag[:n]
		tag = bytes.TrimLeft(tag[n:], " \t\n\r\f")
		var text []byte
		if len(tag) > 0 && tag[0] == '=' {
			text, tag = attributeValue(bytes.TrimLeft(tag[1:], " \t\n\r\f"))
		}
		if !ok && strings.EqualFold(string(name), want) {
			value, ok = string(text), true
		}
	}
}

// attributeValue is the value that tag begins with, without quotes, and the rest.
func attributeValue(tag []byte) (value, rest []byte) {
	if len(tag) > 0 && (tag[0] == '"' || tag[0] == '\'') {
		value, rest, _ = bytes.Cut(tag[1:], tag[:1])
		return value, rest
	}
	n := 0
	for n < len(tag) && !isSpace(tag[n]) && tag[n] != '>' {
		n++
	}
	return tag[:n], tag[n:]
}

// decode replaces the entities that servers write in links.
func decode(s string) string {
	if !strings.Contains(s, "&") {
		return strings.TrimSpace(s)
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "&")
		b.WriteString(before)
		if !found {
			return strings.TrimSpace(b.String())
		}
		name, _, closed := strings.Cut(rest[:min(len(rest), maxEntity+1)], ";") // not all of it: there may be many that never end
		r := entity(name)
		if !closed || r < 0 {
			b.WriteByte('&')
			s = rest
			continue
		}
		b.WriteRune(r)
		s = rest[len(name)+1:]
	}
}

// maxEntity is how long an entity's name may be, in bytes.
const maxEntity = 10

// entity is the character that an entity's name stands for; -1: none.
func entity(name string) rune {
	switch name {
	case "amp":
		return '&'
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "quot":
		return '"'
	case "apos":
		return '\''
	}
	digits, base := strings.TrimPrefix(name, "#"), 10
	if digits == name || len(name) > maxEntity {
		return -1
	}
	if hex := strings.TrimLeft(digits, "xX"); hex != digits {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n == 0 || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return -1
	}
	return rune(n)
}

// sizeBehind is the size that nginx, and Apache where it does not round, write
// behind a link's text, after date and time; -1: there is none to rely on.
func sizeBehind(page []byte) int64 {
	const far = 1024 // the link's text, and what is behind it
	page = page[:min(len(page), far)]
	page = behind(page, "</a>")
	if end := bytes.IndexAny(page, "<\n"); end >= 0 {
		page = page[:end]
	}
	words := strings.Fields(string(page))
	if len(words) != 3 || !strings.Contains(words[1], ":") {
		return -1
	}
	n, err := strconv.ParseUint(words[2], 10, 62)
	if err != nil {
		return -1
	}
	return int64(n)
}
