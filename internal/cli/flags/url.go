package flags

import (
	"errors"
	"net/url"
	"strings"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/fetch"
)

// ParseURL reads a URL as people type it: the scheme is http by default, blanks around it are
// dropped, and the % of a zone in an IPv6 address need not be escaped, as in curl. Errors
// contain no password.
func ParseURL(text string) (*url.URL, error) {
	full := strings.TrimSpace(text)
	switch {
	case full == "":
		return nil, exit.Usagef("the URL is empty")
	case strings.HasPrefix(full, "//"):
		full = "http:" + full
	case oneSlash(full):
		return nil, exit.Usagef("the URL has one slash too few: it begins with http:// or https://")
	case !strings.Contains(full, "://"):
		if err := notOverHTTP(full); err != nil {
			return nil, err
		}
		full = "http://" + full
	}
	u, err := url.Parse(escapeZone(full))
	if err != nil {
		return nil, exit.Usagef("the URL cannot be read: %s", unreadable(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, exit.Usagef("%s: only http and https can be downloaded", Shown(u))
	case u.Hostname() == "":
		return nil, exit.Usagef("%s: there is no host in the URL", asGiven(text, u))
	}
	if err := fetch.Tidy(u); err != nil {
		return nil, exit.Usagef("%s: %w", Shown(u), err)
	}
	return u, nil
}

// notOverHTTP refuses text that other programs fetch: a URL of another kind without slashes, or
// a file that describes a download.
func notOverHTTP(text string) error {
	scheme, _, _ := strings.Cut(text, ":")
	switch strings.ToLower(scheme) {
	case "magnet", "data", "mailto", "blob", "ed2k", "javascript", "ipfs", "about":
		return exit.UsageError{Err: errors.New(scheme + ": only http and https can be downloaded"), Hint: "aria2c fetches magnet links and torrents; curl fetches other URLs"}
	}
	if strings.Contains(text, "/") {
		return nil
	}
	for _, end := range []string{".metalink", ".meta4", ".torrent"} {
		if strings.HasSuffix(strings.ToLower(text), end) {
			return exit.UsageError{Err: errors.New(text + " is no URL"), Hint: "torrents and metalinks are aria2c's; -i FILE reads a list of URLs"}
		}
	}
	return nil
}

// oneSlash says whether text is http:/host: no port begins with a slash.
func oneSlash(text string) bool {
	scheme, rest, ok := strings.Cut(text, ":")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) &&
		!strings.HasPrefix(rest, "//")
}

// asGiven is a URL without a host as it was given, unless there may be a secret in it.
func asGiven(text string, u *url.URL) string {
	if u.User != nil || u.RawQuery != "" || len(text) > maxShown {
		return Shown(u)
	}
	return strings.TrimSpace(text)
}

// escapeZone makes [fe80::1%eth0] [fe80::1%25eth0], as RFC 6874 has it.
func escapeZone(text string) string {
	_, after, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	authority := after
	if i := strings.IndexAny(after, "/?#"); i >= 0 {
		authority = after[:i]
	}
	open, end := strings.LastIndexByte(authority, '['), strings.LastIndexByte(authority, ']')
	if open < 0 || end < open {
		return text
	}
	zone := strings.IndexByte(authority[open:end], '%')
	if zone < 0 || strings.HasPrefix(authority[open+zone:], "%25") {
		return text
	}
	at := len(text) - len(after) + open + zone
	return text[:at] + "%25" + text[at+1:]
}

// unreadable says what is wrong with a URL without quoting it: anything in it may be
// a password that was not escaped.
func unreadable(err error) string {
	var (
		escape  url.EscapeError
		host    url.InvalidHostError
		because *url.Error
	)
	text := ""
	if errors.As(err, &because) {
		text = because.Err.Error()
	}
	switch {
	case errors.As(err, &escape):
		return "a % stands for itself as %25"
	case errors.As(err, &host):
		return "its host has a character that no host may have, or a password before it is not escaped with %"
	case strings.HasPrefix(text, "invalid port"):
		return "its port is not a number, or @ and : of a password are not escaped as %40 and %3A"
	case strings.Contains(text, "']'"), strings.Contains(text, "IP-literal"):
		return "an IPv6 address stands between [ and ]"
	case strings.Contains(text, "control character"):
		return "there is a control character in it"
	case strings.Contains(text, "userinfo"):
		return "user and password have characters that must be escaped with %"
	}
	return "it is no URL"
}

// Shown is a URL as it stands in a message: without user and password, and
// without the query, which may be a secret too, and may be very long.
func Shown(u *url.URL) string {
	short := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if text := short.String(); len(text) <= maxShown {
		return text
	}
	return short.String()[:maxShown] + "..."
}

// maxShown is how many bytes of a URL a message holds.
const maxShown = 200
