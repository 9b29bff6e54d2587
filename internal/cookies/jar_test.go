package cookies

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func at(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// answer has the jar take in an answer's Set-Cookie lines.
func answer(t testing.TB, j *Jar, from string, lines ...string) {
	t.Helper()
	r := http.Response{Header: http.Header{"Set-Cookie": lines}}
	j.SetCookies(at(t, from), r.Cookies())
}

// sent is what goes with a request.
func sent(t testing.TB, j *Jar, to string) string {
	t.Helper()
	var all []string
	for _, c := range j.Cookies(at(t, to)) {
		all = append(all, c.Name+"="+c.Value)
	}
	return strings.Join(all, "; ")
}

// The examples of RFC 6265, section 3.1.
func TestExamplesOfRFC6265(t *testing.T) {
	j := New()
	answer(t, j, "https://www.example.com/", "SID=31d4d96e407aad42")
	if got := sent(t, j, "https://www.example.com/a"); got != "SID=31d4d96e407aad42" {
		t.Errorf("same host: %q", got)
	}
	if got := sent(t, j, "https://example.com/a"); got != "" {
		t.Errorf("without Domain it went to the parent domain: %q", got)
	}
	answer(t, j, "https://www.example.com/", "SID=31d4d96e407aad42; Path=/; Domain=example.com")
	if got := sent(t, j, "https://other.example.com/a"); got != "SID=31d4d96e407aad42" {
		t.Errorf("with Domain: %q", got)
	}
	j = New()
	answer(t, j, "https://www.example.com/", "SID=31d4d96e407aad42; Path=/; Secure; HttpOnly", "lang=en-US; Path=/; Domain=example.com")
	if got := sent(t, j, "https://www.example.com/"); got != "SID=31d4d96e407aad42; lang=en-US" {
		t.Errorf("both: %q", got)
	}
	if got := sent(t, j, "http://www.example.com/"); got != "lang=en-US" {
		t.Errorf("in clear: %q", got)
	}
	answer(t, j, "https://www.example.com/", "lang=; Domain=example.com; Path=/; Expires=Sun, 06 Nov 1994 08:49:37 GMT")
	if got := sent(t, j, "https://www.example.com/"); got != "SID=31d4d96e407aad42" {
		t.Errorf("after one was taken back: %q", got)
	}
	if text := string(j.Text()); strings.Contains(text, "lang") || !strings.Contains(text, "SID") {
		t.Errorf("saved:\n%s", text)
	}
}

// What a server must not set, by RFC 6265 and its successor (draft-ietf-httpbis-rfc6265bis).
func TestRefused(t *testing.T) {
	for _, c := range []struct{ why, from, line string }{
		{"for another domain", "https://a.example/", "x=1; Domain=b.example"},
		{"for a public suffix", "https://shop.co.uk/", "x=1; Domain=co.uk"},
		{"secure, in clear", "http://a.example/", "x=1; Secure"},
		{"__Secure- that is not", "https://a.example/", "__Secure-x=1"},
		{"__Host- with a domain", "https://a.example/", "__Host-x=1; Secure; Path=/; Domain=a.example"},
		{"__Host- with a path", "https://a.example/p/", "__host-x=1; Secure; Path=/p"},
		{"more than 4096 bytes", "https://a.example/", "x=" + strings.Repeat("y", 4096)},
	} {
		j := New()
		answer(t, j, c.from, c.line)
		for _, to := range []string{"https://a.example/p/q", "https://b.example/", "https://shop.co.uk/", "https://bank.co.uk/"} {
			if got := sent(t, j, to); got != "" {
				t.Errorf("%s: sent to %s: %q", c.why, to, got)
			}
		}
		if strings.Contains(string(j.Text()), "x\t") {
			t.Errorf("%s: saved", c.why)
		}
	}
	j := New()
	answer(t, j, "https://a.example/", "sid=good; Secure; Path=/")
	answer(t, j, "http://a.example/", "sid=evil; Path=/")
	answer(t, j, "http://below.a.example/", "sid=evil; Domain=a.example")
	if got := sent(t, j, "https://a.example/"); got != "sid=good" {
		t.Errorf("one in clear stands before the secure one: %q", got)
	}
}

func TestManyCookiesOfOneServerLeaveRoomForOthers(t *testing.T) {
	j := New()
	for i := range 200 {
		answer(t, j, "https://greedy.example/", fmt.Sprintf("c%d=1", i))
	}
	answer(t, j, "https://greedy.example/", "c0=2")
	answer(t, j, "https://other.example/", "x=1")
	if n := len(j.Cookies(at(t, "https://greedy.example/"))); n != maxPerDomain {
		t.Errorf("%d cookies are kept", n)
	}
	if got := sent(t, j, "https://greedy.example/"); !strings.Contains(got, "c0=2") {
		t.Errorf("one that is known was not renewed: %q", got)
	}
	if got := sent(t, j, "https://other.example/"); got != "x=1" {
		t.Errorf("another server's: %q", got)
	}
}

func TestFileKeepsWhatItHolds(t *testing.T) {
	j := New()
	answer(t, j, "https://www.example.com/dir/page", "host=1", "domain=2; Domain=example.com; Path=/; Max-Age=1000",
		"only=3; HttpOnly; Secure", `quoted="a b"`, "empty=; Path=/")
	answer(t, j, "http://[::1]:80/", "six=6")
	answer(t, j, "http://127.0.0.1:80/", "four=4; Domain=127.0.0.1")
	text := j.Text()
	again := New()
	if err := again.Load(strings.NewReader(string(text))); err != nil {
		t.Fatal(err)
	}
	if got := again.Text(); string(got) != string(text) {
		t.Errorf("saved again:\n%s\nbefore:\n%s", got, text)
	}
	for _, to := range []string{"https://www.example.com/dir/x", "http://www.example.com/dir", "https://a.example.com/dir/x", "http://[::1]/", "http://127.0.0.1/", "https://www.example.com/"} {
		have, want := strings.Split(sent(t, again, to), "; "), strings.Split(strings.Replace(sent(t, j, to), "quoted=a b", `quoted="a b"`, 1), "; ")
		if len(have) != len(want) || !sameSet(have, want) {
			t.Errorf("%s: %q, before %q", to, have, want)
		}
	}
}

func sameSet(a, b []string) bool {
	for _, x := range a {
		if !strings.Contains("; "+strings.Join(b, "; ")+"; ", "; "+x+"; ") {
			return false
		}
	}
	return true
}

func TestLoadNamesTheLineAndNoSecret(t *testing.T) {
	for _, bad := range []string{
		"a.example\tFALSE\t/\tFALSE\t0\tsecret", // of 6 fields one is missing in the middle
		"a.example FALSE / FALSE 0 n secret",
		"a.example\tFALSE\t/\tFALSE\tsecret\tn\tv",
		"a.example\tFALSE\t/\tFALSE\t0\tn\tsecret\x01",
		"\tFALSE\t/\tFALSE\t0\tn\tsecret",
	} {
		err := New().Load(strings.NewReader("# Netscape\n\n" + bad + "\n"))
		if strings.Count(bad, "\t") == 5 {
			continue // a name without a value, for programs that leave the tab out
		}
		if err == nil || !strings.HasPrefix(err.Error(), "line 3: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestCurlReadsAndWritesTheSameFile: curl's file is read, and curl sends what was saved.
func TestCurlReadsAndWritesTheSameFile(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	lines := []string{"a=1; Path=/", "b=2; Path=/; HttpOnly; Max-Age=1000", "c=3; Path=/other"}
	var got string
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Cookie")
		for _, l := range lines {
			w.Header().Add("Set-Cookie", l)
		}
	})
	dir := t.TempDir()
	theirs, ours := filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	if out, err := exec.Command(curl, "-sS", "-c", theirs, s).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(theirs)
	if err != nil {
		t.Fatal(err)
	}
	j := New()
	if err := j.Load(strings.NewReader(string(text))); err != nil {
		t.Fatal(err)
	}
	if got := sent(t, j, s+"/x"); !sameSet([]string{"a=1", "b=2"}, strings.Split(got, "; ")) || strings.Contains(got, "c=") {
		t.Errorf("of curl's file is sent: %q", got)
	}
	answer(t, j, s+"/", "a=4; Path=/", "d=5; Path=/; Max-Age=1000")
	if err := os.WriteFile(ours, j.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(curl, "-sS", "-b", ours, s+"/x").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := strings.Split(sent(t, j, s+"/x"), "; ")
	if have := strings.Split(got, "; "); len(have) != 3 || !sameSet(have, want) {
		t.Errorf("curl sends %q, want %q", have, want)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(".example.com\tTRUE\t/\tFALSE\t0\tn\tv\n#HttpOnly_a.example\tFALSE\t/p\tTRUE\t99999999999\tn\t\"v\"\n")
	f.Add("[::1]\tFALSE\t\tFALSE\t1\tn\n# comment\n")
	f.Fuzz(func(t *testing.T, text string) {
		j := New()
		if err := j.Load(strings.NewReader(text)); err != nil && strings.ContainsAny(err.Error(), "\r\n\t") {
			t.Fatalf("error of several lines: %q", err)
		}
		saved := j.Text()
		again := New()
		if err := again.Load(strings.NewReader(string(saved))); err != nil {
			t.Fatalf("what was saved cannot be read: %v\n%s", err, saved)
		}
		if got := again.Text(); string(got) != string(saved) {
			t.Fatalf("saved again:\n%q\nbefore:\n%q", got, saved)
		}
		if strings.Count(string(saved), "\n") > 4+strings.Count(text, "\n") {
			t.Fatalf("more cookies than lines:\n%s", saved)
		}
	})
}
