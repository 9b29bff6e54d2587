// Package term makes text that came from elsewhere fit for a person's terminal.
//
// Contract: functions only, no state; safe from any goroutine.
package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable gives s on one line with everything escaped that a terminal could
// obey or that could make text look like other text: control characters (C0,
// DEL and C1), line and paragraph separators, marks of writing direction,
// invisible characters and bytes that are not UTF-8. Everything else, the
// backslash included, stays: the result is for eyes and cannot be turned back.
func Printable(s string) string {
	if harmless(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// harmless says whether s needs no escape: it is the rule, and costs nothing.
func harmless(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if (r == utf8.RuneError && n == 1) || !unicode.IsPrint(r) {
			return false
		}
		i += n
	}
	return true
}
