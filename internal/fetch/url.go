package fetch

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// Tidy makes u fit for Get, which takes it as it is: it drops the fragment, and escapes bytes
// that the path and query of a request line may not have, as browsers do. The error says why u
// cannot be fetched, without naming it.
func Tidy(u *url.URL) error {
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	u.RawPath = escapePath(u.RawPath)
	return checkURL(u)
}

// maxHost bounds a host's name, in bytes: DNS has at most 253, which may be longer as UTF-8 in
// a URL.
const maxHost = 1024

// checkURL says why u cannot be fetched.
func checkURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q urls are not supported, only http and https", u.Scheme)
	}
	if u.Hostname() == "" {
		return fmt.Errorf("%s url without a host", u.Scheme)
	}
	if n := len(u.Hostname()); n > maxHost {
		return fmt.Errorf("the host name is too long (%d bytes)", n)
	}
	if strings.HasPrefix(u.Host, "[") {
		if a, err := netip.ParseAddr(u.Hostname()); err != nil || strings.ContainsFunc(a.Zone(), reserved) {
			return fmt.Errorf("the text between [ and ] is not an IPv6 address")
		}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("invalid port %.20s", port)
		}
	}
	return nil
}

// reserved says whether a zone's name may not have r (RFC 6874, 2; without escapes).
func reserved(r rune) bool {
	return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._~", r)
}

// escapeQuery escapes bytes that a request line may not have. url.Parse takes a query as it
// stands, except for control characters.
func escapeQuery(query string) string {
	return escape(query, func(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '<' && c != '>' })
}

// escapePath escapes bytes that a path may not have (RFC 3986, 3.3) and leaves its escapes as
// they are. net/url would escape such a path from its decoded form: a %2F would become a slash,
// and a %2B a plus.
func escapePath(raw string) string {
	return escape(raw, func(c byte) bool {
		return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/[]%", c) >= 0
	})
}

// escape escapes the bytes of text that are not clean.
func escape(text string, clean func(byte) bool) string {
	at := 0
	for at < len(text) && clean(text[at]) {
		at++
	}
	if at == len(text) {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:at])
	for _, c := range []byte(text[at:]) {
		if clean(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// escapePercent escapes each % that begins no escape.
func escapePercent(text string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteByte('%')
		if len(after) < 2 || !isHex(after[0]) || !isHex(after[1]) {
			b.WriteString("25")
		}
		text = after
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
