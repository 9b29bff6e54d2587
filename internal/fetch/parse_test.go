package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"
)

func TestContentRange(t *testing.T) {
	for in, want := range map[string]contentRange{
		"bytes 0-0/1":      {0, 1, 1, false},
		"bytes 5-9/10":     {5, 10, 10, false},
		"bytes 5-9/*":      {5, 10, -1, false},
		"BYTES 5-9/100":    {5, 10, 100, false},
		" bytes 5-9/100\t": {5, 10, 100, false},
		"bytes */1234":     {0, 0, 1234, true},
		"bytes */0":        {0, 0, 0, true},
		"bytes 9223372036854775805-9223372036854775806/9223372036854775807": {9223372036854775805, 9223372036854775807, 9223372036854775807, false},
	} {
		if got, err := parseContentRange(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", "bytes", "bytes ", "bytes */*", "bytes 0-9", "bytes 0-9/", "bytes -9/10", "bytes 0-/10", "bytes 9-0/10", "bytes 0-10/10",
		"bytes  0-9/10", "bytes 0 - 9/10", "bytes 0-9 /10", "bytes 0-9/ 10", "bytes +0-9/10", "bytes 0-9/-1", "bytes 0x0-9/10",
		"bytes 0-9/10, 20-29/30", "bytes=0-9/10", "items 0-9/10", "bytes 0-9223372036854775807/*", "bytes 0-99999999999999999999/*",
		"bytes 0-9/99999999999999999999", "bytes ٠-٩/10", "bytes 0-9/10/10", "bytes */", "bytes 0--9/10",
	} {
		if got, err := parseContentRange(in); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	for _, s := range []string{"bytes 0-0/1", "bytes 5-9/*", "bytes */10", "bytes 0-9223372036854775807/*", "bytes -1-5/10", "bytes 5-9/10 "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := parseContentRange(s)
		switch {
		case err != nil:
			if r != (contentRange{}) {
				t.Fatalf("%+v with an error", r)
			}
		case r.unsatisfied:
			if r.total < 0 || r.off != 0 || r.end != 0 {
				t.Fatalf("%+v", r)
			}
		case r.off < 0 || r.end <= r.off || (r.total != -1 && r.end > r.total):
			t.Fatalf("%+v", r)
		default:
			if h := "bytes=" + strings.TrimSpace(strings.SplitN(s, "/", 2)[0])[6:]; strings.Trim(h, "0123456789") == "bytes=-" {
				// The inverse, up to leading zeros.
				back, err := parseContentRange("bytes " + strings.TrimPrefix(rangeHeader(r.off, r.end), "bytes=") + "/*")
				if err != nil || back.off != r.off || back.end != r.end {
					t.Fatalf("%q -> %+v -> %+v, %v", s, r, back, err)
				}
			}
		}
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "-7": 0, "7.5": 0, "soon": 0,
		"3600": maxRetryAfter, "9223372036854775807": maxRetryAfter, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:04:35 GMT":  30 * time.Second,
		"Fri, 02 Jan 2026 03:04:00 GMT":  0,
		"Fri, 02 Jan 2099 03:04:00 GMT":  maxRetryAfter,
		"Friday, 02-Jan-26 03:04:35 GMT": 30 * time.Second,
		"Fri Jan  2 03:04:35 2026":       30 * time.Second,
	} {
		if got := parseRetryAfter(in, now); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"7", "-1", "Fri, 02 Jan 2026 03:04:35 GMT", "9223372036854775807", "Fri, 02 Jan 0000 03:04:35 GMT"} {
		f.Add(s)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if d := parseRetryAfter(s, now); d < 0 || d > maxRetryAfter {
			t.Fatalf("%q: %v", s, d)
		}
	})
}

// FuzzDigests: whatever a server calls a digest is none, or has a digest's length.
func FuzzDigests(f *testing.F) {
	f.Add("sha-256=:d435Qo+nKZ+gLcUHn7GQtQ72hiBVAgqoLsZnZPiTGPk=:", "sha-512=:a:;x=1")
	f.Add("sha-256=:d435Qo+nKZ+gLcUHn7GQtQ72hiBVAgqoLsZnZPiTGPk=:, sha-256=::", "=")
	f.Fuzz(func(t *testing.T, one, two string) {
		a, b := digests(http.Header{"Repr-Digest": {one, two}})
		if a != "" && len(a) != 44 || b != "" && len(b) != 88 {
			t.Errorf("%q, %q", a, b)
		}
	})
}

// TestDigests: the examples of RFC 9530, B.1 and 3, and headers that contradict themselves.
func TestDigests(t *testing.T) {
	const d256 = "RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg="
	const other = "d435Qo+nKZ+gLcUHn7GQtQ72hiBVAgqoLsZnZPiTGPk="
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"sha-256=:" + d256 + ":"}, d256},
		{[]string{"unixsum=30637, sha-256=:" + d256 + ": ;a=b"}, d256},
		{[]string{"sha-256=:" + d256 + ":, sha-256=:" + other + ":"}, ""},
		{[]string{"sha-256=:" + d256 + ":", "sha-256=:" + other + ":"}, ""},
		{[]string{"sha-256=" + d256}, ""},
		{[]string{"sha-256=:" + d256[4:] + ":"}, ""},
		{[]string{"id-sha-256=:" + d256 + ":"}, ""},
		{nil, ""},
	} {
		if got, _ := digests(http.Header{"Repr-Digest": c.lines}); got != c.want {
			t.Errorf("%q: %q, want %q", c.lines, got, c.want)
		}
	}
}

// TestModifiedRecently: RFC 9110, 8.8.2.2: a date is a strong validator when the answer was made
// at least a second later.
func TestModifiedRecently(t *testing.T) {
	at := func(s string) string { return "Tue, 15 Nov 1994 12:45:" + s + " GMT" }
	for _, c := range []struct {
		modified, date string
		want           bool
	}{
		{at("26"), at("26"), true},
		{at("26"), at("25"), true},
		{at("26"), at("27"), false},
		{at("26"), "", false},
		{"", at("26"), false},
		{"yesterday", at("26"), false},
	} {
		if got := modifiedRecently(http.Header{"Last-Modified": {c.modified}, "Date": {c.date}}); got != c.want {
			t.Errorf("%q at %q: %v", c.modified, c.date, got)
		}
	}
}

// TestValidators: what cannot be kept in a line of text is no validator.
func TestValidators(t *testing.T) {
	for _, h := range []http.Header{{"Etag": {"\"a\x1b\""}}, {"Etag": {`"a"`, `"b"`}}, {"Etag": {strings.Repeat("x", 5000)}}} {
		if o := ObjectOf(h); o.ETag != "" {
			t.Errorf("kept %q", o.ETag)
		}
	}
	if o := ObjectOf(http.Header{"Accept-Ranges": {"none"}}); o.AcceptsRanges {
		t.Error("none is not bytes")
	}
}

// TestProposedName: of what breaks the grammar, what curl 7.88.1 (-OJ) and wget 1.21.3
// (--content-disposition) were seen to name the file; where one of them alone found a name,
// that one.
func TestProposedName(t *testing.T) {
	for line, want := range map[string]string{
		`attachment; filename="a b.txt"`:                               "a b.txt",
		`attachment; filename=plain.iso`:                               "plain.iso",
		`attachment;filename=plain.iso`:                                "plain.iso",
		`inline; filename="../../etc/passwd"`:                          "../../etc/passwd",
		`attachment; filename="x.bin"; filename*=UTF-8''%e2%82%ac.bin`: "€.bin",
		`attachment; filename*=UTF-8''%e2%82%ac.bin; filename="x.bin"`: "€.bin",
		`attachment; filename="say \"hi\".txt"`:                        `say "hi".txt`,
		`attachment`:                                                   "",
		`attachment; filename=`:                                        "",
		`attachment; filename=""`:                                      "",
		`attachment; xfilename=a`:                                      "",
		`attachment, filename=a`:                                       "",
		`attachment filename=a`:                                        "",
		"attachment; filename=\"a\x1b[2J\"":                            "",
		`attachment; filename=foo bar.html`:                            "foo bar.html",
		`attachment; filename=foo,bar.html`:                            "foo,bar.html",
		`attachment; filename=foo(1)[2].html`:                          "foo(1)[2].html",
		`attachment; filename=föö.html`:                                "föö.html",
		`attachment; filename="fö.html"`:                               "fö.html",
		"attachment; filename=\"f\xf6.html\"":                          "fö.html",
		"attachment; filename=f\xf6.html":                              "fö.html",
		`filename=foo.html`:                                            "foo.html",
		`filename="foo.html"`:                                          "foo.html",
		`; filename=foo.html`:                                          "foo.html",
		`attachment; filename="foo.html" rubbish`:                      "foo.html",
		`attachment; filename="foo.html"; size=5; x`:                   "foo.html",
		`attachment; filename=foo.html ;`:                              "foo.html",
		`attachment; filename="foo.html`:                               "foo.html",
		`attachment; filename='foo.html'`:                              "'foo.html'",
		`attachment; filename*=iso-8859-1''foo-%E4.h`:                  "foo-ä.h",
		`attachment; filename*=foo.html`:                               "foo.html",
		`attachment; filename*=''foo.html`:                             "foo.html",
		`attachment; filename*=UTF-8''a b.html`:                        "a b.html",
		`attachment; filename*=utf-8''a%zz.html`:                       "a%zz.html",
		`attachment; FILENAME = foo.html`:                              "foo.html",
		`attachment; filename=foo;bar.html`:                            "foo",
		`attachment; filename="foo;bar.html"`:                          "foo;bar.html",
		`attachment; x="filename=b"; filename=a.html`:                  "a.html",
		`attachment; filename=a.html; filename=b.html`:                 "a.html",
		`attachment; filename=a%20b.html`:                              "a%20b.html",
	} {
		if got := proposedName(http.Header{"Content-Disposition": {line}}); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	two := http.Header{"Content-Disposition": {`attachment; filename="a"`, `attachment; filename="b"`}}
	if got := proposedName(two); got != "" {
		t.Errorf("of two headers %q", got)
	}
}

// FuzzContentDisposition: whatever a server proposes has a bound. That the store makes
// a name of it that is safe is FuzzServedName's matter.
func FuzzContentDisposition(f *testing.F) {
	for _, s := range []string{
		`attachment; filename="a"`, `attachment; filename*=UTF-8''%2e%2e%2f`, `a; filename*0="x"; filename*1="y"`,
		`inline; filename="=?UTF-8?B?Li4v?="`, `;`, `attachment; filename*=x'y`, "a; filename=\"\\",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		// A byte of ISO-8859-1 has two in UTF-8.
		if name := proposedName(http.Header{"Content-Disposition": {line}}); len(name) > 2*len(line) {
			t.Fatalf("%q -> %q", line, name)
		}
	})
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"plain", "\x1b]0;x\x07", "two\nlines", "\u202egnp.exe", "\xff\xfe", strings.Repeat("é", 400)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := printable(s)
		if len(p) > 310 {
			t.Fatalf("%d bytes", len(p))
		}
		for _, r := range p {
			if unicode.IsControl(r) || r == '\u202e' || r == unicode.ReplacementChar {
				t.Fatalf("%q", p)
			}
		}
	})
}

func TestTidy(t *testing.T) {
	for _, c := range []struct{ from, to, why string }{
		{"http://h/a#b", "http://h/a", ""},
		{"http://h/a?b c\u00e9\"<>", "http://h/a?b%20c%C3%A9%22%3C%3E", ""},
		{"http://h/a?b=%20+%zz", "http://h/a?b=%20+%zz", ""},
		{"http://h:1/", "http://h:1/", ""},
		{"http://h:65535/", "http://h:65535/", ""},
		{"http://h:/", "http://h:/", ""},
		{"http://h:65536/", "", "invalid port 65536"},
		{"http://h:0/", "", "invalid port 0"},
		{"http://h:99999999999999999999999999999/", "", "invalid port 99999999999999999999"},
		{"ftp://h/", "", "only http and https"},
		{"http:///x", "", "without a host"},
	} {
		u, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		err = Tidy(u)
		switch {
		case c.why == "" && (err != nil || u.String() != c.to):
			t.Errorf("%q: %q, %v, want %q", c.from, u, err, c.to)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%q: %v, want %q", c.from, err, c.why)
		}
	}
}

// FuzzRedirect: whatever a Location says, what comes out is http or https with a host.
func FuzzRedirect(f *testing.F) {
	for _, s := range []string{"/x", "http://h/", "//h/x", "file:///etc/passwd", "?q", "http://u:pw@h/", "\\\\x", "http://[::1]:80/x", "/?a b\xff<>", "http://h:99999/"} {
		f.Add(s)
	}
	base := &url.URL{Scheme: "https", Host: "base.test", Path: "/a/b", User: url.UserPassword("u", "p")}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := redirectTarget(&http.Response{StatusCode: 302, Header: http.Header{"Location": {s}}}, base)
		if err != nil {
			return
		}
		if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
			t.Fatalf("%q -> %q", s, u)
		}
		if line := u.RequestURI(); strings.ContainsAny(line, " \"<>\r\n\t") || strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
			t.Fatalf("%q -> request for %q", s, line)
		}
		home := target{u: base, home: true}
		if n := home.next(u, http.StatusFound, http.MethodGet); n.home != (originOf(u) == originOf(base)) {
			t.Fatalf("%q -> %q is home: %v", s, u, n.home)
		}
	})
}

// canned is a connection on which a server has already said everything.
type canned struct {
	net.Conn
	r io.Reader
}

func (c *canned) Read(p []byte) (int, error)       { return c.r.Read(p) }
func (c *canned) Write(p []byte) (int, error)      { return len(p), nil }
func (c *canned) Close() error                     { return nil }
func (c *canned) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *canned) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *canned) SetReadDeadline(time.Time) error  { return nil }
func (c *canned) SetWriteDeadline(time.Time) error { return nil }

// FuzzResponse feeds arbitrary answers to two requests on a connection: never
// more bytes than were announced, io.EOF only at the end, errors that print.
func FuzzResponse(f *testing.F) {
	f.Add([]byte(head206(10, 20, 100, "") + "0123456789" + head206(10, 20, 100, "") + "0123456789"))
	f.Add([]byte(lines("HTTP/1.1 100 Go on") + lines("HTTP/1.1 206 OK", "Content-Range: bytes 10-19/100", "Transfer-Encoding: chunked") + "a\r\n0123456789\r\n0\r\n\r\n"))
	f.Add([]byte(lines("HTTP/1.1 200 OK") + "0123"))
	f.Add([]byte(lines("HTTP/1.1 416 No", "Content-Range: bytes */5", "Content-Length: 0")))
	f.Add([]byte(lines("HTTP/1.1 302 No", "Location: /x", "Content-Length: 0") + lines("HTTP/1.0 200 OK", "Content-Length: 3") + "abcd"))
	u := &url.URL{Scheme: "http", Host: "host.test", Path: "/f"}
	f.Fuzz(func(t *testing.T, answer []byte) {
		c := NewClient(&Config{}, given{&canned{r: bytes.NewReader(answer)}}, nil)
		defer c.Close()
		for range 2 {
			r, err := c.Get(context.Background(), u, 10, 20)
			if err == nil {
				if !r.Whole && (r.Off != 10 || r.End > 20 || r.End <= r.Off) {
					t.Fatalf("[%d, %d)", r.Off, r.End)
				}
				var n int64
				n, err = io.Copy(io.Discard, struct{ io.Reader }{r})
				if r.End >= 0 && (n > r.End-r.Off || (err == nil && n != r.End-r.Off)) {
					t.Fatalf("%d bytes of [%d, %d), %v", n, r.Off, r.End, err)
				}
				if e := r.Close(); e != nil {
					t.Fatal(e)
				}
			}
			var e *Error
			if err != nil && (!errors.As(err, &e) || e.Error() != printable(e.Error()) || e.Class.String() == "unknown") {
				t.Fatalf("%#v", err)
			}
		}
	})
}
