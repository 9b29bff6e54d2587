package store

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	partSuffix    = ".part"
	journalSuffix = ".part.json"
	newSuffix     = ".part.json.new"

	// partMode is the mode of a part and its journal: for their owner alone.
	partMode = 0o600

	// maxNumber bounds the N of NAME.N.
	maxNumber = 9999
	// maxName leaves room in the 255 bytes that file systems grant for .N and
	// for the longest suffix.
	maxName = 255 - len(".9999") - len(newSuffix)
	// maxExtension is the longest tail after a dot that survives the
	// shortening of a long name.
	maxExtension = 16

	defaultName = "index.html"

	// refusedByFAT are the characters that FAT and Windows take in no name, besides those
	// that are in none anywhere. A colon leads to another stream of a file.
	refusedByFAT = `<>:"|?*`
)

// NameFromURL is the name under which u is saved: its last path element, percent-decoded, or
// index.html if there is none. Anything that could leave the directory, hide the file or speak
// to a terminal becomes an underscore: path separators, control and unprintable characters,
// bytes that are not UTF-8, a leading dot. On Windows and Android, so does what their file
// systems refuse.
func NameFromURL(u *url.URL) string { return nameFromURL(u, (*Run)(nil).fatRules()) }

func nameFromURL(u *url.URL, fat bool) string {
	path := u.EscapedPath()
	name, err := url.PathUnescape(path[strings.LastIndexByte(path, '/')+1:])
	if err != nil {
		name = ""
	}
	return cleanName(name, fat)
}

// cleanName makes s safe as the name of a file in a directory. fat asks for
// the rules of FAT and Windows as well, which Android's shared storage has.
func cleanName(s string, fat bool) string {
	var b strings.Builder
	for _, r := range s { // an invalid byte comes as U+FFFD
		if !plain(r) || fat && strings.ContainsRune(refusedByFAT, r) {
			r = '_'
		}
		b.WriteRune(r)
	}
	name := b.String()
	if fat {
		if name = markEnd(name); isDevice(name) {
			name = "_" + name
		}
	}
	if name = shorten(name, maxName); fat {
		name = markEnd(name)
	}
	if strings.HasPrefix(name, ".") {
		name = "_" + name[1:]
	}
	if strings.Trim(name, " ") == "" {
		return defaultName
	}
	return name
}

// markEnd makes the end of name one that FAT keeps.
func markEnd(name string) string {
	if t := strings.TrimRight(name, ". "); t != name {
		return t + "_"
	}
	return name
}

// maxDepth bounds the directories of a cleaned path.
const maxDepth = 64

// cleanSub makes s, elements with slashes between, safe as a path below a directory: each
// element is cleaned as a name; empty ones, "." and those deeper than maxDepth are left out. ""
// is the directory itself.
func cleanSub(s string, fat bool) string {
	var b strings.Builder
	depth := 0
	for e := range strings.SplitSeq(s, "/") {
		if e == "" || e == "." || depth == maxDepth {
			continue
		}
		if depth++; depth > 1 {
			b.WriteRune(filepath.Separator)
		}
		b.WriteString(cleanName(e, fat))
	}
	return b.String()
}

// plain says whether r may stand in a name. The two joiners are unprintable
// but carry meaning in Persian and in emoji, and cannot reorder text.
func plain(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	switch r {
	case '/', '\\', utf8.RuneError:
		return false
	case zeroWidthNonJoiner, zeroWidthJoiner:
		return true
	}
	return unicode.IsPrint(r)
}

// reservedOnWindows says whether name, an element of a path, is not kept as it is by Windows:
// it is that of a device, or of a stream of another file (a:b), or has an end or a character
// that Windows does not take.
func reservedOnWindows(name string) bool {
	return isDevice(name) || strings.ContainsAny(name, refusedByFAT) || strings.TrimRight(name, ". ") != name
}

// isDevice says whether name, whatever its extension, is a device on Windows.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(stem, port); ok && utf8.RuneCountInString(n) == 1 &&
			strings.ContainsAny(n, "0123456789¹²³") {
			return true
		}
	}
	return false
}

// shorten cuts name to at most limit bytes, between runes, sparing a short
// extension.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	ext := ""
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i <= maxExtension {
		ext = name[i:]
	}
	stem := name[:limit-len(ext)]
	for !utf8.ValidString(stem) {
		stem = stem[:len(stem)-1]
	}
	return stem + ext
}
