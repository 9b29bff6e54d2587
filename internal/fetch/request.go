package fetch

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// originKey identifies the destination of a connection: scheme, host and port.
type originKey struct{ scheme, addr string }

// originOf names u's origin, the host in lower-case ASCII, the port always there.
func originOf(u *url.URL) originKey {
	host, port := Hostname(u), u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return originKey{u.Scheme, net.JoinHostPort(host, port)}
}

// public says whether a header of the user's may go to an origin to which a server redirects,
// not only to that of the given URL. Any header may be a key (X-Api-Key, Private-Token), except
// those that describe the request itself.
func public(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "User-Agent", "Referer", "Content-Type":
		return true
	}
	return strings.HasPrefix(name, "Accept") || strings.HasPrefix(name, "If-")
}

// Hostname is u's host in the form in which DNS and certificates have it, and a Dialer is
// asked for it.
func Hostname(u *url.URL) string {
	host := u.Hostname()
	for i := range len(host) {
		if host[i] >= 0x80 {
			return asciiHost(u)
		}
	}
	name, _, _ := strings.Cut(host, "%") // what follows is an interface's name, and has its case
	return strings.ToLower(name) + host[len(name):]
}

// withoutZone is a host, and its port, as others may know it: the zone of an IPv6 address
// means something on this machine only (RFC 6874, 3).
func withoutZone(host string) string {
	zone, end := strings.IndexByte(host, '%'), strings.IndexByte(host, ']')
	if zone < 0 || end < zone {
		return host
	}
	return host[:zone] + host[end:]
}

// hostHeader is the Host header of a request for u: an empty port is none.
func hostHeader(u *url.URL) string { return strings.TrimSuffix(withoutZone(u.Host), ":") }

// asciiHost is the punycode form of u's host; what has none stays as it is, for
// the resolver to refuse. net/http converts every Host header that it writes and
// does not export how; x/net/idna would bring in x/text and its tables for this.
func asciiHost(u *url.URL) string {
	var b bytes.Buffer
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: u.Scheme, Host: u.Host}}
	if err := r.Write(&b); err != nil {
		return u.Hostname()
	}
	sent, err := http.ReadRequest(bufio.NewReader(&b))
	if err != nil {
		return u.Hostname()
	}
	return strings.ToLower((&url.URL{Host: sent.Host}).Hostname())
}

// target is one hop on the way from the URL asked for to the object.
type target struct {
	u *url.URL
	// home says that the chain of redirects has never left the origin of the URL
	// asked for, which the user has named, so that credentials may be sent. A chain that comes back
	// does not count: another host chose that URL (Go CVE-2024-45336).
	home bool
	// clear says that this hop may have been chosen by an attacker on the path, since one
	// before it was not over TLS.
	clear bool
	// get says that a redirect asks for GET from then on (RFC 9110, 15.4).
	get bool
}

// next is the hop that a redirect from t to u makes.
func (t target) next(u *url.URL, status int, method string) target {
	n := target{u: u, home: t.home && originOf(t.u) == originOf(u), clear: t.clear || t.u.Scheme != "https", get: t.get}
	switch status {
	case http.StatusMovedPermanently, http.StatusFound: // as browsers and curl do
		n.get = n.get || method == http.MethodPost
	case http.StatusSeeOther:
		n.get = true
	}
	return n
}

// newRequest builds the GET for one hop; first is the URL that the caller asked for.
func (c *Client) newRequest(ctx context.Context, t target, first *url.URL, a asked) *http.Request {
	h := make(http.Header, len(c.cfg.Header)+5)
	h.Set("Accept", "*/*")
	h["User-Agent"] = []string{c.cfg.UserAgent} // an empty one keeps Go's own name out
	r := &http.Request{
		Method: http.MethodGet, URL: t.u, Host: hostHeader(t.u), Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	for name, values := range c.cfg.Header {
		name = http.CanonicalHeaderKey(name)
		switch name {
		case "Range", "If-Range", "Accept-Encoding", "Connection", "Content-Length",
			"Transfer-Encoding", "Trailer", "Upgrade", "Te", "Proxy-Connection", "Keep-Alive":
			// Ours to say: the checks of the answer depend on them.
			continue
		}
		if !t.home && !public(name) {
			continue
		}
		if name == "Host" {
			if len(values) > 0 {
				r.Host = values[0]
			}
			continue
		}
		h[name] = values
	}
	if !t.get {
		r.Method = c.cfg.method()
		if c.cfg.Body != nil {
			r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.cfg.Body)), nil }
			r.ContentLength = int64(len(c.cfg.Body))
			if h.Get("Content-Type") == "" && c.cfg.ContentType != "" {
				h.Set("Content-Type", c.cfg.ContentType)
			}
		}
	}
	c.addCookies(h, t.u)
	h.Set("Accept-Encoding", "identity")
	if a.head {
		r.Method = http.MethodHead
	}
	if !a.whole() {
		h.Set("Range", rangeHeader(a.off, a.end))
	}
	c.authorize(r, t, first)
	return r.WithContext(ctx)
}

// WithoutUser is a copy of u that may be shown and kept.
func WithoutUser(u *url.URL) *url.URL {
	v := *u
	v.User = nil
	return &v
}
