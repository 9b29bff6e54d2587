package link

import (
	"strconv"
	"strings"
)

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
