package fetch

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// proposedName is the file name in a Content-Disposition (RFC 6266), decoded, and otherwise as
// the server wrote it: paths, control characters and all. It is empty if there is no such
// header, more than one, or one that is not understood. Grammar errors are treated as in curl
// 7.88 and wget 1.21.
func proposedName(h http.Header) string {
	line := validator(h, "Content-Disposition")
	if line == "" {
		return ""
	}
	if _, params, err := mime.ParseMediaType(line); err == nil && params["filename"] != "" {
		return latin1(params["filename"]) // filename* went before it, if both are there
	}
	plain, extended := "", ""
	for p := range parameters(line) {
		name, value, ok := strings.Cut(p, "=")
		switch name = strings.TrimSpace(name); {
		case !ok:
		case strings.EqualFold(name, "filename") && plain == "":
			plain = unquote(strings.TrimSpace(value))
		case strings.EqualFold(name, "filename*") && extended == "":
			extended = decodeExtended(unquote(strings.TrimSpace(value)))
		}
	}
	if extended != "" {
		return extended
	}
	return plain
}

// parameters yields what stands between the semicolons of a header that are not in quotes. A
// quote that is not closed goes to the header's end.
func parameters(line string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		begin, quoted := 0, false
		for i := 0; i < len(line); i++ {
			switch c := line[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case c == ';' && !quoted:
				if !yield(line[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(line[begin:])
	}
}

// unquote returns the text within a value's quotes, or the value if it has none. Text after the
// quotes is ignored.
func unquote(value string) string {
	if !strings.HasPrefix(value, `"`) {
		return latin1(value)
	}
	var b strings.Builder
	for i := 1; i < len(value) && value[i] != '"'; i++ {
		if value[i] == '\\' && i+1 < len(value) {
			i++
		}
		b.WriteByte(value[i])
	}
	return latin1(b.String())
}

// decodeExtended decodes charset'language'value (RFC 8187), whose charset and language may be
// missing.
func decodeExtended(value string) string {
	charset, rest, ok := strings.Cut(value, "'")
	if ok {
		if _, rest, ok = strings.Cut(rest, "'"); ok {
			value = rest
		}
	}
	decoded, err := url.PathUnescape(value)
	if err != nil {
		return value
	}
	if strings.EqualFold(charset, "iso-8859-1") {
		return fromLatin1(decoded)
	}
	return latin1(decoded)
}

// latin1 takes bytes that are no UTF-8 for ISO-8859-1, which headers were in before.
func latin1(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return fromLatin1(s)
}

func fromLatin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
