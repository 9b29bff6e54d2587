package flags

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct{ from, to, why string }{
		{"h.example/a", "http://h.example/a", ""},
		{"h.example:81/a", "http://h.example:81/a", ""},
		{"//h.example/a", "http://h.example/a", ""},
		{" https://h/a\n", "https://h/a", ""},
		{"HTTP://h/a#b", "http://h/a", ""},
		{"http://h/a b?c d", "http://h/a%20b?c%20d", ""},
		{"http://[fe80::1%eth0]:80/a", "http://[fe80::1%25eth0]:80/a", ""},
		{"http://[fe80::1%25eth0]/a", "http://[fe80::1%25eth0]/a", ""},
		{"[fe80::1%eth0]/a%20", "http://[fe80::1%25eth0]/a%20", ""},
		{"http://u:p@[::1]/%5b%5d", "http://u:p@[::1]/%5b%5d", ""},
		{"http://h/[a%20b]", "http://h/[a%20b]", ""},
		{"", "", "empty"},
		{" ", "", "empty"},
		{"http:/h/a", "", "slash"},
		{"https:h", "", "slash"},
		{"http://", "", "http://: there is no host"},
		{"/etc/passwd", "", "/etc/passwd: there is no host"},
		{"http:///x?secret", "", "http:///x: there"},
		{"http://u:secret@/x", "", "no host"},
		{"ftp://u:secret@h/x?secret", "", "only http and https"},
		{"http://h:0/?secret", "", "invalid port 0"},
		{"http://h:65536/", "", "invalid port 65536"},
		{"http://u:secret@h:secret/", "", "port is not a number"},
		{"http://u:sec/ret@h/", "", "port is not a number"},
		{"http://h/%secret", "", "%25"},
		{"http://[::1/secret", "", "between [ and ]"},
		{"http://[fe80::1%a%20b]/", "", "not an IPv6 address"},
		{"http://[fe80::1%sec/ret]/", "", "between [ and ]"},
		{"[::%\xb0]", "", "not an IPv6 address"},
		{"http://u:sec ret@h secret/", "", "escaped"},
		{"http://h/\x01secret", "", "control character"},
	} {
		u, err := ParseURL(c.from)
		switch {
		case c.why == "" && (err != nil || u.String() != c.to):
			t.Errorf("%q: %q, %v, want %q", c.from, u, err, c.to)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%q: %v, want %q", c.from, err, c.why)
		case err != nil && strings.Contains(err.Error(), "sec"):
			t.Errorf("%q: the error quotes it: %v", c.from, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	for _, seed := range []string{"h/a", "http://u:p@[fe80::1%e]:1/a?b c#d", "//h", "http:/h", "[%]/", "http://h:99999/", "a://b://[c%d]", "[::%\xb0]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
			t.Fatalf("%q: %q", text, u)
		}
		again, err := ParseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Fatalf("%q: %q, and read again %q, %v", text, u, again, err)
		}
	})
}
