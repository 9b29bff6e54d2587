// Package cookies keeps the cookies of a run: one jar for all links, by the rules of
// browsers (RFC 6265, and of its successor the prefixes __Secure- and __Host- and the
// protection of secure cookies), and reads and writes it as the file that Netscape
// began and curl, wget and aria2 share.
//
// net/http/cookiejar decides which cookie goes where. It cannot be listed, so a Jar
// also keeps what cookiejar has accepted, in the form in which it is saved.
package cookies

import (
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"
)

// Limits of a jar: those that RFC 6265, section 6.1, asks for at least. A cookie beyond
// them is ignored, so that no server fills the memory or pushes out another's cookies.
const (
	maxCookies   = 3000
	maxPerDomain = 50
	maxBytes     = 4096 // of name and value
)

// Jar is a set of cookies. Its methods may be called from any goroutine.
type Jar struct {
	mu    sync.Mutex
	rules *cookiejar.Jar
	kept  map[key]cookie
}

// key is what makes a cookie the same one (RFC 6265, 5.3, step 11).
type key struct{ domain, path, name string }

// cookie is what else is known of it.
type cookie struct {
	value                      string
	hostOnly, secure, httpOnly bool
	expires                    time.Time // zero: with the session
}

// New makes an empty jar.
func New() *Jar {
	// Its only error is that of its options.
	rules, _ := cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
	return &Jar{rules: rules, kept: make(map[key]cookie)}
}

// Cookies gives the cookies to send with a request for u.
func (j *Jar) Cookies(u *url.URL) []*http.Cookie {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.kept) == 0 {
		return nil
	}
	return j.rules.Cookies(u)
}

// SetCookies takes in the cookies of an answer from u.
func (j *Jar) SetCookies(u *url.URL, set []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range set {
		j.set(u, c, time.Now())
	}
}

// set takes in one cookie; j.mu is held.
func (j *Jar) set(u *url.URL, c *http.Cookie, now time.Time) {
	if len(c.Name)+len(c.Value) > maxBytes || !prefixHolds(u, c) {
		return
	}
	k, hostOnly := identify(u, c)
	if u.Scheme != "https" && (c.Secure || j.shadows(k)) {
		return
	}
	expires := expiry(c, now)
	over := !expires.IsZero() && !expires.After(now)
	if _, known := j.kept[k]; !known && !over && j.full(k.domain, now) {
		return
	}
	j.rules.SetCookies(u, []*http.Cookie{c})
	switch {
	case over:
		delete(j.kept, k)
	case j.accepted(k, c, hostOnly):
		value := c.Value
		if c.Quoted {
			value = `"` + value + `"`
		}
		j.kept[k] = cookie{value: value, hostOnly: hostOnly, secure: c.Secure, httpOnly: c.HttpOnly, expires: expires}
	}
}

// identify finds the domain and the path of a cookie from u.
func identify(u *url.URL, c *http.Cookie) (k key, hostOnly bool) {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	domain := strings.ToLower(strings.TrimPrefix(c.Domain, "."))
	// A public suffix may set a cookie for itself alone, and so may an address.
	if domain == "" || domain == host && (net.ParseIP(host) != nil || publicsuffix.List.PublicSuffix(host) == host) {
		domain, hostOnly = host, true
	}
	path := c.Path
	if path == "" || path[0] != '/' {
		path = "/" // RFC 6265, 5.1.4
		if i := strings.LastIndexByte(u.Path, '/'); i > 0 {
			path = u.Path[:i]
		}
	}
	return key{domain, path, c.Name}, hostOnly
}

// accepted says whether the rules have taken in a cookie: whether they send it where it
// belongs.
func (j *Jar) accepted(k key, c *http.Cookie, hostOnly bool) bool {
	host := k.domain
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	hosts := []string{host}
	if !hostOnly {
		hosts = append(hosts, "below."+host) // one for the host alone is not one for its domain
	}
	for _, host := range hosts {
		sent := false
		for _, have := range j.rules.Cookies(&url.URL{Scheme: "https", Host: host, Path: k.path}) {
			sent = sent || have.Name == c.Name && have.Value == c.Value
		}
		if !sent {
			return false
		}
	}
	return true
}

// full says whether there is no room for another cookie of a domain.
func (j *Jar) full(domain string, now time.Time) bool {
	n := 0
	for k, c := range j.kept {
		switch {
		case !c.expires.IsZero() && !c.expires.After(now):
			delete(j.kept, k)
		case k.domain == domain:
			n++
		}
	}
	return n >= maxPerDomain || len(j.kept) >= maxCookies
}

// shadows says whether a cookie from an origin in clear would stand before, or replace, a
// secure one of the same name (RFC 6265bis, 5.7, step 16): somebody on the way may have
// sent it.
func (j *Jar) shadows(k key) bool {
	for have, c := range j.kept {
		if c.secure && have.name == k.name && (below(have.domain, k.domain) || below(k.domain, have.domain)) && pathBelow(k.path, have.path) {
			return true
		}
	}
	return false
}

// below says whether host is domain, or part of it.
func below(host, domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }

// pathBelow says whether path matches that of a cookie (RFC 6265, 5.1.4).
func pathBelow(path, cookie string) bool {
	rest, ok := strings.CutPrefix(path, cookie)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(cookie, "/"))
}

// prefixHolds says whether a cookie keeps what its name promises (RFC 6265bis, 4.1.3).
func prefixHolds(u *url.URL, c *http.Cookie) bool {
	name := strings.ToLower(c.Name)
	switch {
	case strings.HasPrefix(name, "__secure-"):
		return c.Secure && u.Scheme == "https"
	case strings.HasPrefix(name, "__host-"):
		return c.Secure && u.Scheme == "https" && c.Domain == "" && c.Path == "/"
	}
	return true
}

// expiry is when a cookie expires; zero: with the session. Max-Age wins over Expires.
func expiry(c *http.Cookie, now time.Time) time.Time {
	switch {
	case c.MaxAge < 0:
		return now
	case c.MaxAge > 0:
		const most = 400 * 24 * time.Hour // RFC 6265bis, 5.5
		return now.Add(min(time.Duration(min(c.MaxAge, int(most/time.Second)))*time.Second, most))
	}
	return c.Expires
}
