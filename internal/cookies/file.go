package cookies

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	// maxLine bounds a line of a file: a cookie, its domain and its path.
	maxLine = 16 << 10
	// httpOnly begins the line of a cookie that scripts in pages may not see.
	httpOnly = "#HttpOnly_"
)

// Load reads a file of cookies: lines of seven fields with tabs between them, which are
// domain, whether its subdomains are included, path, whether it is secure, when it expires
// (seconds since 1970, 0 with the session), name and value. A line that is none is an
// error, which names the line and quotes nothing of it.
func (j *Jar) Load(r io.Reader) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	now := time.Now()
	n := 0
	for lines.Scan() {
		n++
		text, isHTTPOnly := strings.CutPrefix(strings.TrimSuffix(lines.Text(), "\r"), httpOnly)
		if strings.TrimSpace(text) == "" || text[0] == '#' {
			continue
		}
		if err := j.loadLine(text, isHTTPOnly, now); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n+1, err)
	}
	return nil
}

func (j *Jar) loadLine(text string, isHTTPOnly bool, now time.Time) error {
	f := strings.Split(text, "\t")
	if len(f) == 6 { // some programs leave the tab before an empty value out
		f = append(f, "")
	}
	if len(f) != 7 {
		return fmt.Errorf("not a cookie: %d fields, want 7 with tabs between them", len(f))
	}
	seconds, err := strconv.ParseInt(f[4], 10, 64)
	if err != nil {
		return errors.New("not a cookie: field 5 is not a time in seconds")
	}
	host := strings.ToLower(strings.Trim(f[0], "."))
	c := &http.Cookie{Name: f[5], Value: f[6], Path: f[2], Secure: strings.EqualFold(f[3], "TRUE"), HttpOnly: isHTTPOnly}
	if strings.EqualFold(f[1], "TRUE") {
		c.Domain = host
	}
	if seconds > 0 {
		c.Expires = time.Unix(seconds, 0)
	}
	u := &url.URL{Scheme: "https", Host: host, Path: "/"}
	if strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	if host == "" || strings.ContainsFunc(host, notInHost) || c.Name == "" || strings.ContainsAny(c.Name, "=; ") || strings.Contains(c.Value, ";") || strings.ContainsFunc(text, unprintable) {
		return errors.New("not a cookie: a field is empty, or has characters that none may have")
	}
	j.set(u, c, now)
	return nil
}

// Text is the jar as such a file, cookies of the session included, as curl has it.
func (j *Jar) Text() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	var b bytes.Buffer
	b.WriteString("# Netscape HTTP Cookie File\n# Written by mlget. It holds secrets.\n\n")
	keys := make([]*key, 0, len(j.kept)) // pointers, which are sorted elsewhere as well: the code is there
	for k, c := range j.kept {
		if c.expires.IsZero() || c.expires.After(now) {
			keys = append(keys, &k)
		}
	}
	slices.SortFunc(keys, func(a, b *key) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.path, b.path), cmp.Compare(a.name, b.name))
	})
	for _, k := range keys {
		c := j.kept[*k]
		domain, seconds := k.domain, int64(0)
		if !c.hostOnly {
			domain = "." + domain
		}
		if !c.expires.IsZero() {
			seconds = max(1, c.expires.Unix())
		}
		if c.httpOnly {
			b.WriteString(httpOnly)
		}
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", domain, upper(!c.hostOnly), k.path, upper(c.secure), seconds, k.name, c.value)
	}
	return b.Bytes()
}

func unprintable(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

func notInHost(r rune) bool {
	return r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._:", r)
}

func upper(yes bool) string { return strings.ToUpper(strconv.FormatBool(yes)) }
