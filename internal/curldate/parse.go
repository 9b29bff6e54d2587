// Package curldate reads dates as curl's -z takes them: the forms of RFC 9110, and nearly
// any other in which a person names a day.
package curldate

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var errNoDate = errors.New("this is no date")

// Parse reads a date such as "Sun, 06 Nov 1994 08:49:37 GMT", "6 Nov 94", "1994.Nov.6",
// "19941106 08:49:37 -0700" or "1994-11-06". Without a time it is midnight; without a zone,
// UTC.
func Parse(text string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	if day, clock, _ := strings.Cut(strings.TrimSpace(text), " "); len(day) == len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, day); err == nil {
			text = strings.ReplaceAll(day, "-", "") + " " + clock
		}
	}
	p := parts{year: -1, clock: -1}
	for text != "" {
		n := 1
		switch c := text[0]; {
		case isLetter(c):
			for n < len(text) && isLetter(text[n]) {
				n++
			}
			if !p.word(text[:n]) {
				return time.Time{}, errNoDate
			}
		case isDigit(c), p.clock >= 0 && isZone(text):
			for n < len(text) && (isDigit(text[n]) || text[n] == ':') {
				n++
			}
			if !p.number(text[:n]) {
				return time.Time{}, errNoDate
			}
		case strings.IndexByte(" \t,./-", c) < 0:
			return time.Time{}, errNoDate
		}
		text = text[n:]
	}
	return p.time()
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// isZone says whether text begins like +0700.
func isZone(text string) bool {
	const length = len("+0700")
	if text[0] != '+' && text[0] != '-' || len(text) < length || len(text) > length && isDigit(text[length]) {
		return false
	}
	return strings.Trim(text[1:length], "0123456789") == ""
}

// parts is what has been read of a date; 0 and -1 say that there was none yet.
type parts struct {
	year  int // -1
	month time.Month
	day   int
	clock time.Duration // since midnight; -1
	zone  time.Duration // east of Greenwich
}

// word reads the name of a month, of a day of the week or of a zone.
func (p *parts) word(text string) bool {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(text, m.String()) || strings.EqualFold(text, m.String()[:3]) {
			known := p.month != 0
			p.month = m
			return !known
		}
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.EqualFold(text, d.String()) || strings.EqualFold(text, d.String()[:3]) {
			return true
		}
	}
	hours, known := map[string]int{
		"GMT": 0, "UTC": 0, "UT": 0, "Z": 0, "WET": 0, "BST": 1, "CET": 1, "MET": 1, "CEST": 2, "MEST": 2, "EET": 2,
		"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	}[strings.ToUpper(text)]
	p.zone = time.Duration(hours) * time.Hour
	return known
}

// number reads a day, a year, YYYYMMDD, a time or a zone's distance.
func (p *parts) number(text string) bool {
	if strings.Contains(text, ":") {
		return p.time24(text)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return false
	}
	const compact = len("20060102")
	switch {
	case text[0] == '+' || text[0] == '-':
		p.zone = time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	case len(text) == compact && p.year < 0 && p.month == 0 && p.day == 0:
		p.year, p.month, p.day = n/10000, time.Month(n/100%100), n%100
	case p.day == 0 && n > 0 && n <= 31 && len(text) <= 2:
		p.day = n
	case p.year < 0 && len(text) == 4:
		p.year = n
	case p.year < 0 && len(text) == 2:
		p.year = 1900 + n
		if n <= 70 {
			p.year += 100
		}
	default:
		return false
	}
	return true
}

// time24 reads 15:04 or 15:04:05.
func (p *parts) time24(text string) bool {
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil && p.clock < 0 {
			p.clock = t.Sub(t.Truncate(24 * time.Hour))
			return true
		}
	}
	return false
}

// time puts the parts together.
func (p *parts) time() (time.Time, error) {
	t := time.Date(p.year, p.month, p.day, 0, 0, 0, 0, time.UTC)
	if p.year < 0 || p.month == 0 || t.Month() != p.month || t.Day() != p.day { // the 31st of June
		return time.Time{}, errNoDate
	}
	return t.Add(max(p.clock, 0) - p.zone), nil
}
