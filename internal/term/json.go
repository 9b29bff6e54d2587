package term

import (
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// HarmlessJSON gives the same JSON with every character that Printable would
// escape as a JSON escape, for output that may end on a terminal: JSON itself
// allows all but C0 controls to stand as they are. What the JSON says does not
// change. White space between values stays, so the result may have lines. data
// must be JSON; it is returned itself where there is nothing to escape.
func HarmlessJSON(data []byte) []byte {
	i := harmfulInJSON(data)
	if i == len(data) {
		return data
	}
	out := append(make([]byte, 0, len(data)+64), data[:i]...)
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case !harmful(r):
			out = append(out, data[i:i+n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendEscape(appendEscape(out, high), low)
		default:
			out = appendEscape(out, r)
		}
		i += n
	}
	return out
}

// harmfulInJSON is where the first character stands that must be escaped.
func harmfulInJSON(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if harmful(r) {
			return i
		}
		i += n
	}
	return len(data)
}

// harmful says whether r must be escaped inside a JSON string. ASCII controls
// cannot stand there: where they are met, they are the space between values.
func harmful(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }

func appendEscape(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	return append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
