// Package robots reads a server's robots.txt (RFC 9309): which paths a crawler should leave
// alone.
package robots

import (
	"strings"
)

// MaxBytes is how much of a file is read; RFC 9309, section 2.5, asks for at least 500 KiB.
const MaxBytes = 512 << 10

// maxRules bounds how many rules are kept.
const maxRules = 20_000

// Rules are those of one file for one crawler. The zero value allows everything.
type Rules struct{ rules []rule }

// rule is a line Allow or Disallow.
type rule struct {
	pattern string // normalised
	allow   bool
}

// Parse reads a file's text, as far as MaxBytes, for the crawler of that product token: the
// groups that name it, or else those for all. What cannot be read is passed over.
func Parse(text []byte, product string) Rules {
	text = text[:min(len(text), MaxBytes)]
	var own, others Rules
	named, mine, all := false, false, false // named: a group names the crawler; the others: the present one is meant for it, for all
	agents := false                         // the line before was a User-agent
	for line := range strings.Lines(strings.TrimPrefix(strings.ReplaceAll(string(text), "\r", "\n"), "\ufeff")) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "user-agent":
			if !agents {
				mine, all = false, false
			}
			agents = true
			mine = mine || strings.EqualFold(token(value), product)
			all = all || value == "*"
			named = named || mine
		case "allow", "disallow":
			agents = false
			allow := strings.EqualFold(strings.TrimSpace(key), "allow")
			if value == "" { // "Disallow:" disallows nothing
				continue
			}
			r := rule{pattern(value), allow}
			if mine && len(own.rules) < maxRules {
				own.rules = append(own.rules, r)
			}
			if all && len(others.rules) < maxRules {
				others.rules = append(others.rules, r)
			}
		}
	}
	if named {
		return own
	}
	return others
}

// pattern is a rule's pattern, normalised: what is special in it stands for itself in paths as
// an escape, and $ is special at the end only.
func pattern(value string) string {
	text, whole := strings.CutSuffix(normal(value), "$")
	text = strings.ReplaceAll(text, "$", "%24")
	if whole {
		text += "$"
	}
	return text
}

// token is the product token that a User-agent line begins with (RFC 9309, 2.2.1).
func token(value string) string {
	end := strings.IndexFunc(value, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
	if end < 0 {
		return value
	}
	return value[:end]
}

// Allowed says whether a path, with its query if there is one, may be asked for: by the rule
// with the longest pattern that matches, and of two as long by the one that allows
// (RFC 9309, 2.2.2). robots.txt itself always may.
func (r Rules) Allowed(path string) bool {
	path = strings.NewReplacer("*", "%2A", "$", "%24").Replace(normal(path))
	if path == "/robots.txt" {
		return true
	}
	longest, allowed := -1, true
	for _, rule := range r.rules {
		n := len(rule.pattern)
		if n < longest || n == longest && !rule.allow || !matches(rule.pattern, path) {
			continue
		}
		longest, allowed = n, rule.allow
	}
	return allowed
}

// matches says whether a path begins as the pattern says, in which * stands for any
// characters, and $ at the end for the end.
func matches(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, parts[0])
	if !ok {
		return false
	}
	for i, part := range parts[1:] {
		if whole && i == len(parts)-2 { // the last one has to stand at the end
			return strings.HasSuffix(rest, part)
		}
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return !whole || rest == ""
}

// normal makes what means the same look the same (RFC 9309, 2.2.2): bytes beyond ASCII are
// escaped, escapes of unreserved characters are not, and escapes have capitals.
func normal(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		c, escaped := path[i], false
		if c == '%' && i+2 < len(path) {
			high, low := strings.IndexByte(hex, upper(path[i+1])), strings.IndexByte(hex, upper(path[i+2]))
			if high >= 0 && low >= 0 {
				c, escaped = byte(high<<4|low), true
				i += 2
			}
		}
		if c <= ' ' || c >= 0x7f || escaped && !unreserved(c) {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// unreserved says whether an escape of c means c (RFC 3986, 2.3).
func unreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
