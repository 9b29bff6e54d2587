package robots

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The file of RFC 9309, section 5.1, without its lines for humans.
const simple = `
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot
EOF`

func TestExamplesOfRFC9309(t *testing.T) {
	for _, c := range []struct {
		text, product, path string
		want                bool
	}{
		{simple, "mlget", "/example/page.html", false},
		{simple, "mlget", "/a.gif", false},
		{simple, "mlget", "/a.gif?x", true},
		{simple, "mlget", "/publications/a", true},
		{simple, "mlget", "/publications/a.gif", true}, // the longest match
		{simple, "foobot", "/example/page.html", true},
		{simple, "FooBot", "/example/allowed.gif", true},
		{simple, "foobot", "/other", false},
		{simple, "barbot", "/example/page.html", false},
		{simple, "barbot", "/example/other", true},
		{simple, "bazbot", "/example/page.html", false},
		{simple, "quxbot", "/example/page.html", true},
		// Section 5.2.
		{"User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n", "foobot", "/example/page/disallowed.gif", false},
		{"User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n", "foobot", "/example/page/a", true},
		// Section 2.2.1: groups for one crawler are one.
		{"user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: ExampleBot\ndisallow: /baz\n", "examplebot", "/baz/x", false},
		{"user-agent: ExampleBot\ndisallow: /foo\n\nuser-agent: ExampleBot\ndisallow: /baz\n", "examplebot", "/foo", false},
		{"user-agent: ExampleBot/2.1 (x)\ndisallow: /foo\n", "examplebot", "/foo", false},
		// Section 2.2.2: what is compared.
		{"user-agent: *\ndisallow: /foo/bar?baz=quz", "x", "/foo/bar?baz=quz", false},
		{"user-agent: *\ndisallow: /foo/bar/ツ", "x", "/foo/bar/%E3%83%84", false},
		{"user-agent: *\ndisallow: /foo/bar/%E3%83%84", "x", "/foo/bar/ツ", false},
		{"user-agent: *\ndisallow: /foo/bar/%62%61%7A", "x", "/foo/bar/baz", false},
		{"user-agent: *\ndisallow: /foo%2fbar", "x", "/foo%2Fbar", false},
		{"user-agent: *\ndisallow: /foo%2fbar", "x", "/foo/bar", true},
		// Section 2.2.3: special characters.
		{"user-agent: *\nallow: /this/path/exactly$\ndisallow: /", "x", "/this/path/exactly", true},
		{"user-agent: *\nallow: /this/path/exactly$\ndisallow: /", "x", "/this/path/exactly/x", false},
		{"user-agent: *\ndisallow: /this/*/exactly", "x", "/this/a/b/exactly", false},
		{"user-agent: *\ndisallow: /path/file-with-a-%2A.html", "x", "/path/file-with-a-b.html", true},
		{"user-agent: *\ndisallow: /path/file-with-a-%2A.html", "x", "/path/file-with-a-*.html", false},
		{"user-agent: *\ndisallow: /path/foo-%24", "x", "/path/foo-$", false},
		{"user-agent: *\ndisallow: /a$b", "x", "/a$bc", false},
		{"user-agent: *\ndisallow: /a*b*c$", "x", "/abbcc", false},
		{"user-agent: *\ndisallow: /a*b*c$", "x", "/abbcd", true},
		// Of equal rules the one that allows; an empty one says nothing; comments; CR.
		{"user-agent: *\ndisallow: /p\nallow: /p", "x", "/p", true},
		{"user-agent: *\ndisallow:", "x", "/p", true},
		{"user-agent: * # all\rdisallow: /p # that\r", "x", "/p/q", false},
		{"sitemap: http://h/\nuser-agent: a\nsitemap: http://h/\nuser-agent: x\ndisallow: /", "x", "/", false},
		{"disallow: /", "x", "/", true},
		{"user-agent: *\ndisallow: /", "x", "/robots.txt", true},
		{"", "x", "/", true},
	} {
		if got := Parse([]byte(c.text), c.product).Allowed(c.path); got != c.want {
			t.Errorf("%q for %s: %s is allowed: %v", c.text, c.product, c.path, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(simple, "/example/page.html")
	f.Add("user-agent: *\ndisallow: /%%2%zz*$*", "/%zz%")
	f.Fuzz(func(t *testing.T, text, path string) {
		r := Parse([]byte(text), "mlget")
		if !r.Allowed("/robots.txt") {
			t.Fatal("robots.txt itself")
		}
		if got := normal(normal(path)); got != normal(path) {
			t.Fatalf("%q, then %q", normal(path), got)
		}
		if r.Allowed(path) != r.Allowed(normal(path)) {
			t.Fatalf("%q: two answers", path)
		}
		if !strings.Contains(strings.ToLower(text), "disallow") && !r.Allowed(path) {
			t.Fatalf("%q is not allowed", path)
		}
	})
}
