package fetch

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Dialer opens connections over the Client's link and over no other. It resolves the names in
// addr ("host:port") over that link too. A connection that wraps another and changes none of
// its bytes should return it as NetConn() net.Conn: then the kernel's connection can be read
// without waking for each packet, and moved.
type Dialer interface {
	DialContext(ctx context.Context, network, addr string) (net.Conn, error)
}

// Credentials looks up a user and password by host name, without port, as in
// ~/.netrc, and by the user's name, unless that is empty; a default entry, if any, is
// the implementation's business. It is
// asked only for the host of the URL given to Get, never for a redirect's.
type Credentials interface {
	For(host, login string) (user, password string, ok bool)
}

// Proxies chooses the proxy for requests to the origin of u, which has a scheme, a host
// and a port and nothing else; nil is none. An http or https proxy is asked in absolute
// form for http, and by CONNECT for https; a socks5, socks5h or socks4a proxy for
// connections to names, which it resolves.
type Proxies interface {
	For(u *url.URL) (*url.URL, error)
}

// Proxied is a Dialer whose link may have a proxy of its own, for all origins, which stands
// in the place of Config's; nil: it has none.
type Proxied interface {
	Proxy() *url.URL
}

// Trace observes a Client's connections. Its methods are called from any goroutine, and must
// neither block nor call the Client.
type Trace interface {
	// RoundTrip: a TCP handshake has just been made, to all appearances in rtt. TLS
	// and ConnOpened follow on conn, if all goes well.
	RoundTrip(conn net.Conn, rtt time.Duration)
	// ConnOpened: a connection is ready for requests. proto is "1.1" or "2"; rtt
	// is the time of its TCP handshake.
	ConnOpened(local, remote net.Addr, proto string, rtt time.Duration)
	// InVain: so many bytes of payload have come that no Read returns, of redirects, errors
	// and responses that were given up.
	InVain(bytes int64)
	// Spare is how many bytes may come in vain to save a connection.
	Spare() int64
	// Read: a system call has taken bytes from a connection. It is called on Linux only.
	Read()
}

// Answers receives the header of each answer that a Client gets, redirects and errors included.
// It is called from any goroutine, and must not change h.
type Answers interface {
	Answered(u *url.URL, h *http.Response)
}

// HTTPVersion says which HTTP versions to use.
type HTTPVersion uint8

// The versions, as curl's options of those names.
const (
	Auto                HTTPVersion = iota // HTTP/2 where TLS negotiates it, else HTTP/1.1
	HTTP1                                  // HTTP/1.1 only
	HTTP2                                  // as Auto: HTTP/2 is offered over TLS; in clear it stays HTTP/1.1
	HTTP2PriorKnowledge                    // HTTP/2 without asking, in clear as over TLS
)

// Config is how a Client makes requests. The zero value works.
type Config struct {
	Header      http.Header   // extra request headers; Authorization, Cookie and Host go to the URL's own origin only
	UserAgent   string        // empty: the header is not sent
	User        *url.Userinfo // wins over a user in the URL, as in curl; nil: none
	OnlyDigest  bool          // passwords are sent as answers to a challenge alone (RFC 7616); else as Basic first
	Credentials Credentials   // asked when neither User nor the URL has any; may be nil

	// Cookies are sent with requests and kept from answers, also those of redirects, by the
	// jar's own rules; nil: none are. The Clients of a run share one.
	Cookies http.CookieJar

	Answers Answers // may be nil

	// Named are the origins to which User, Credentials and the private ones of Header may go,
	// for where a URL given to Get is not one that the user has named; nil: that of each.
	Named *Origins
	Peers *Peers // what the Clients of a run tell each other; nil: this one is alone

	TLS      *tls.Config // roots, client certificates, InsecureSkipVerify; nil: the system's. ServerName and NextProtos are set per connection
	Protocol HTTPVersion
	Proxies  Proxies // nil: none

	Addresses *Addresses // where connections go instead of the URL's host; nil: there
	Schemes   []string   // of URLs and of where they lead; nil: http and https
	MaxSize   int64      // of an object, in bytes; 0: no limit

	// Method and Body are sent in the place of GET, until a redirect says otherwise; with a
	// Body, ContentType goes along and HTTP/1.1 is spoken. Use NoRange then: what
	// they do may not be the same a second time.
	Method      string // empty: GET, or POST with a Body
	Body        []byte // nil: there is none
	ContentType string

	ConnectTimeout  time.Duration // TCP, proxy and TLS handshakes together (30 s)
	ResponseTimeout time.Duration // from a request's turn on its connection to the end of the response's header (30 s)
	NoRange         bool          // no request has a Range: each response is the whole object
	MaxRedirects    int           // 20; negative: none are followed
	ReadBuffer      int           // bytes; reads at least this long go straight to the connection (4 KiB)
}

// verifies says whether certificates are verified.
func (c *Config) verifies() bool { return c.TLS == nil || !c.TLS.InsecureSkipVerify }

// method is that of requests, before a redirect.
func (c *Config) method() string {
	switch {
	case c.Method != "":
		return c.Method
	case c.Body != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// withDefaults is a copy of c in which zero values have become defaults.
func (c *Config) withDefaults() *Config {
	d := *c
	if d.ConnectTimeout <= 0 {
		d.ConnectTimeout = 30 * time.Second
	}
	if d.ResponseTimeout <= 0 {
		d.ResponseTimeout = 30 * time.Second
	}
	if d.Peers == nil {
		d.Peers = NewPeers()
	}
	if d.Body != nil {
		d.Protocol = HTTP1
	}
	if d.MaxRedirects == 0 {
		d.MaxRedirects = 20
	}
	if d.ReadBuffer <= 0 {
		d.ReadBuffer = 4 << 10
	}
	return &d
}

// allows says why a URL's scheme may not be used.
func (c *Config) allows(u *url.URL) error {
	if len(c.Schemes) > 0 && !slices.Contains(c.Schemes, u.Scheme) {
		return fmt.Errorf("%s is not allowed, only %s", u.Scheme, strings.Join(c.Schemes, " and "))
	}
	return nil
}

// exceeds says whether so many bytes are more than are wanted.
func (c *Config) exceeds(size int64) bool { return c.MaxSize > 0 && size > c.MaxSize }

// tooLarge is the error of an object that is.
func (c *Config) tooLarge() *Error {
	return &Error{Class: Status, Err: fmt.Errorf("%w: more than the %d bytes allowed", ErrTooLarge, c.MaxSize)}
}
