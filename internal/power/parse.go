package power

import (
	"bytes"
	"math"
)

// maxWord is how many bytes of a name are believed.
const maxWord = 64

// parseNumber reads an integer with white space around it. ok is false for
// everything else, and for what does not fit.
func parseNumber(text []byte) (n int64, ok bool) {
	text = trim(text)
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 0 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		digit := int64(c - '0')
		if n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	if negative {
		n = -n
	}
	return n, true
}

// parseWord reads a name: one line of printable ASCII, with ? for what is not.
func parseWord(text []byte) string {
	text = trim(text)
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = trim(text[:i])
	}
	word := make([]byte, 0, maxWord)
	for _, c := range text[:min(len(text), maxWord)] {
		if c < ' ' || c > '~' {
			c = '?'
		}
		word = append(word, c)
	}
	return string(word)
}

// trim cuts off white space and the zero bytes that some drivers add.
func trim(text []byte) []byte { return bytes.Trim(text, " \t\r\n\x00") }
