package link

import (
	"strconv"
	"strings"
)

// Printable makes a name that came from elsewhere fit for a terminal: what
// cannot be printed is written as an escape sequence.
func Printable(name string) string {
	quoted := strconv.QuoteToGraphic(name)
	if inner := quoted[1 : len(quoted)-1]; inner != name {
		return quoted
	}
	return name
}

// shellWord makes text one word of a POSIX shell: an interface may be called
// "a;reboot", and what is shown as a command gets pasted.
func shellWord(text string) string {
	plain := text != ""
	for _, r := range text {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@/=+-", r) {
			plain = false
		}
	}
	if plain {
		return text
	}
	for _, r := range text {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return "INTERFACE" // no quoting is both safe to print and right to paste
		}
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
