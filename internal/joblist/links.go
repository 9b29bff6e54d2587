package joblist

import (
	"bytes"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Link is a link of a page.
type Link struct {
	Href string // as it is meant, entities decoded
	// Size is what the page says of it, bytes, where that is exact; else -1. It is
	// a hint: pages are older than what they are about.
	Size int64
}

// Links finds the links of an HTML page in their order, as many as most.
func Links(page []byte, most int) (links []Link) {
	z := html.NewTokenizer(bytes.NewReader(page))
	open, ended := false, false // the last link's element; it has just ended
	for {
		kind := z.Next()
		if kind == html.ErrorToken { // the page's end: all of it is in memory
			return links
		}
		if kind == html.TextToken && ended {
			links[len(links)-1].Size = size(z.Raw())
		}
		name, attributes := z.TagName() // of what is no tag, none
		ended = kind == html.EndTagToken && open && string(name) == "a"
		if string(name) == "noscript" { // no script runs here
			z.NextIsNotRawText()
		}
		if string(name) != "a" {
			continue
		}
		open = false
		for attributes && kind != html.EndTagToken {
			var key, value []byte
			if key, value, attributes = z.TagAttr(); string(key) != "href" {
				continue
			}
			if len(links) == most {
				return links
			}
			links, open = append(links, Link{strings.TrimSpace(string(value)), -1}), true
			break // a second one of the name does not count
		}
	}
}

// size is the size that nginx, and Apache where it does not round, write behind a
// link, after date and time; -1: there is none to rely on.
func size(text []byte) int64 {
	const far = 1024 // bytes
	line, _, _ := bytes.Cut(text[:min(len(text), far)], []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) != 3 || !strings.Contains(words[1], ":") {
		return -1
	}
	n, err := strconv.ParseUint(words[2], 10, 62)
	if err != nil {
		return -1
	}
	return int64(n)
}
