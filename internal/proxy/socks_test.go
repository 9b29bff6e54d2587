package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

func someUsers(t testing.TB) *Users {
	t.Helper()
	users, err := ReadUsers(strings.NewReader("# who\n\nann:secret\r\nbob:a:b\n"))
	if err != nil {
		t.Fatal(err)
	}
	return users
}

// TestSOCKS: dialogues by the bytes of RFC 1928, RFC 1929, and the descriptions of SOCKS4
// and SOCKS4A.
func TestSOCKS(t *testing.T) {
	name := "\x03\x0bexample.org"
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		what, sent string
		users      bool
		target     string
		answer     string // before the one that tells what became of the connection
	}{
		{"5, IPv4", "\x05\x01\x00\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50", false, "192.0.2.1:80", "\x05\x00"},
		{"5, IPv6", "\x05\x01\x00\x05\x01\x00\x04\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x01\xbb", false, "[2001:db8::1]:443", "\x05\x00"},
		{"5, a name", "\x05\x02\x02\x00\x05\x01\x00" + name + "\x01\xbb", false, "example.org:443", "\x05\x00"},
		{"5, a password", "\x05\x02\x00\x02\x01\x03ann\x06secret\x05\x01\x00" + name + "\x01\xbb", true, "example.org:443", "\x05\x02\x01\x00"},
		{"5, a password with a colon", "\x05\x01\x02\x01\x03bob\x03a:b\x05\x01\x00" + name + "\x01\xbb", true, "example.org:443", "\x05\x02\x01\x00"},
		{"5, colons are no way around", "\x05\x01\x02\x01\x05bob:a\x01b", true, "", "\x05\x02\x01\x01"},
		{"5, a wrong password", "\x05\x01\x02\x01\x03ann\x06secres\x05", true, "", "\x05\x02\x01\x01"},
		{"5, a version of the password that is none", "\x05\x01\x02\x05\x03ann\x06secret\x05", true, "", "\x05\x02\x01\x01"},
		{"5, no password", "\x05\x01\x00", true, "", "\x05\xff"},
		{"5, only GSSAPI", "\x05\x01\x01", false, "", "\x05\xff"},
		{"5, no methods", "\x05\x00", false, "", "\x05\xff"},
		{"5, BIND", "\x05\x01\x00\x05\x02\x00\x01\xc0\x00\x02\x01\x00\x50", false, "", "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"5, UDP", "\x05\x01\x00\x05\x03\x00\x01\xc0\x00\x02\x01\x00\x50", false, "", "\x05\x00\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"5, a kind of address that is none", "\x05\x01\x00\x05\x01\x00\x02\xc0\x00\x02\x01\x00\x50", false, "", "\x05\x00\x05\x08\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"5, an empty name", "\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", false, "", "\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"5, a name with a line's end", "\x05\x01\x00\x05\x01\x00\x03\x03a\nb\x00\x50", false, "", "\x05\x00\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"},
		{"5, cut short", "\x05\x01\x00\x05\x01\x00\x01\xc0\x00", false, "", "\x05\x00"},
		{"4", "\x04\x01\x00\x50\xc0\x00\x02\x01ann\x00", false, "192.0.2.1:80", ""},
		{"4A", "\x04\x01\x01\xbb\x00\x00\x00\x01\x00example.org\x00", false, "example.org:443", ""},
		{"4, BIND", "\x04\x02\x00\x50\xc0\x00\x02\x01\x00", false, "", "\x00\x5b\x00\x00\x00\x00\x00\x00"},
		{"4, where there are passwords", "\x04\x01\x00\x50\xc0\x00\x02\x01ann\x00", true, "", "\x00\x5b\x00\x00\x00\x00\x00\x00"},
		{"4, a user without end", "\x04\x01\x00\x50\xc0\x00\x02\x01" + long, false, "", "\x00\x5b\x00\x00\x00\x00\x00\x00"},
		{"4A, a name without end", "\x04\x01\x00\x50\x00\x00\x00\x01\x00" + long, false, "", "\x00\x5b\x00\x00\x00\x00\x00\x00"},
		{"4, port 0", "\x04\x01\x00\x00\xc0\x00\x02\x01\x00", false, "", "\x00\x5b\x00\x00\x00\x00\x00\x00"},
	} {
		var users *Users
		if c.users {
			users = someUsers(t)
		}
		var answer bytes.Buffer
		r := bufio.NewReader(strings.NewReader(c.sent + "rest"))
		if strings.HasSuffix(c.what, "cut short") {
			r = bufio.NewReader(strings.NewReader(c.sent))
		}
		req, err := readSOCKS(r, &answer, users)
		if req.target != c.target || (err == nil) != (c.target != "") || answer.String() != c.answer {
			t.Errorf("%s: %q, %v, answer %q; want %q, %q", c.what, req.target, err, answer.String(), c.target, c.answer)
		}
		if c.target == "" {
			continue
		}
		if rest, _ := io.ReadAll(r); string(rest) != "rest" {
			t.Errorf("%s: %q is left, want what follows the request", c.what, rest)
		}
	}
}

func FuzzSOCKS(f *testing.F) {
	for _, seed := range []string{
		"\x05\x01\x00\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50",
		"\x05\x02\x00\x02\x01\x03ann\x06secret\x05\x01\x00\x03\x01a\x01\xbb",
		"\x04\x01\x01\xbb\x00\x00\x00\x01\x00example.org\x00",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	users := someUsers(f)
	f.Fuzz(func(t *testing.T, sent []byte, protected bool) {
		who := users
		if !protected {
			who = nil
		}
		var answer bytes.Buffer
		req, err := readSOCKS(bufio.NewReader(bytes.NewReader(sent)), &answer, who)
		if err != nil {
			return
		}
		host, port, err := net.SplitHostPort(req.target)
		if err != nil || host == "" || port == "0" || strings.ContainsAny(host, "\r\n /%") {
			t.Errorf("target %q: %v", req.target, err)
		}
		if protected && (req.version != socks5 || !bytes.Contains(sent, []byte("ann\x06secret")) && !bytes.Contains(sent, []byte("bob\x03a:b"))) {
			t.Errorf("%q was let in", sent)
		}
	})
}

func TestReadUsers(t *testing.T) {
	for _, text := range []string{"", "# nobody\n", "ann\n", "ann:\n", ":secret\n", strings.Repeat("x", 2000), "a:" + strings.Repeat("x", 256)} {
		if users, err := ReadUsers(strings.NewReader(text)); err == nil {
			t.Errorf("%.20q: %v, want an error", text, users)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %v tells a password", text, err)
		}
	}
	users := someUsers(t)
	for _, c := range []struct {
		user, password string
		want           bool
	}{
		{"ann", "secret", true}, {"bob", "a:b", true}, {"bob:a", "b", false}, {"ann", "", false}, {"ann", "secret\r", false}, {"", "", false},
	} {
		if users.admit(c.user, c.password) != c.want {
			t.Errorf("%s with %s: admitted %v", c.user, c.password, !c.want)
		}
	}
	if _, err := ReadUsers(errReader{}); !errors.Is(err, errReader{}) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

type errReader struct{}

func (errReader) Error() string              { return "unreadable" }
func (e errReader) Read([]byte) (int, error) { return 0, e }
