package digestauth

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answer is the response to one challenge, its parameters by name.
func answer(t *testing.T, header, cnonce, uri, user, password string) map[string]string {
	t.Helper()
	s, _ := New(Parse([]string{header}))
	if s == nil {
		t.Fatalf("no session for %s", header)
	}
	if cnonce != "" {
		s.cnonce = cnonce
	}
	got := Parse([]string{s.Authorization("GET", uri, user, password)})
	if len(got) != 1 || got[0].Scheme != "Digest" {
		t.Fatalf("%v", got)
	}
	return got[0].Params
}

// The examples of RFC 7616, 3.9.1, and of RFC 2617, 3.5.
func TestExamplesOfTheRFCs(t *testing.T) {
	const (
		first  = `Digest realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", algorithm=`
		cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
		third  = `Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="5ccc069c403ebaf9f0171e9517f40e41"`
	)
	for _, c := range []struct{ header, cnonce, uri, user, password, response string }{
		{first + "MD5", cnonce, "/dir/index.html", "Mufasa", "Circle of Life", "8ca523f5e9506fed4657c9700eebdbec"},
		{first + "SHA-256", cnonce, "/dir/index.html", "Mufasa", "Circle of Life", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"},
		{third, "0a4f113b", "/dir/index.html", "Mufasa", "Circle Of Life", "6629fae49393a05397450978507c4ef1"},
	} {
		got := answer(t, c.header, c.cnonce, c.uri, c.user, c.password)
		if got["response"] != c.response || got["username"] != c.user || got["nc"] != "00000001" || got["qop"] != "auth" {
			t.Errorf("%s: %v", c.header, got)
		}
	}
}

// TestSameAnswerAsCurl: for what the RFCs have no examples of, curl answers the same
// challenge, and its nonces are taken.
func TestSameAnswerAsCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	for _, header := range []string{
		`Digest realm="r", nonce="n1", algorithm=MD5-sess, qop="auth"`,
		`Digest realm="a \"quoted\" one", nonce="n2", algorithm=SHA-256-sess, qop="auth", opaque="o"`,
		`Digest realm="old", nonce="n3"`,
		`Basic realm="b", Digest realm="r", nonce="n4", algorithm=SHA-256, qop=auth`,
	} {
		var theirs string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if theirs = r.Header.Get("Authorization"); theirs == "" {
				w.Header().Set("WWW-Authenticate", header)
				w.WriteHeader(http.StatusUnauthorized)
			}
		}))
		out, err := exec.Command(curl, "-sS", "--digest", "-u", "us er:pa:ss", s.URL+"/a%20b?q=1").CombinedOutput()
		s.Close()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := Parse([]string{theirs})
		if len(want) != 1 {
			t.Fatalf("curl says %q", theirs)
		}
		have := answer(t, header, want[0].Params["cnonce"], "/a%20b?q=1", "us er", "pa:ss")
		if have["response"] == "" || have["response"] != want[0].Params["response"] {
			t.Errorf("%s:\n%v, curl\n%v", header, have, want[0].Params)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string][]Challenge{
		`Basic realm="a, b"`:           {{"Basic", map[string]string{"realm": "a, b"}}},
		`Negotiate`:                    {{"Negotiate", map[string]string{}}},
		`Negotiate a87421000492aa87==`: {{"Negotiate", map[string]string{}}},
		`Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple"`: { // RFC 9110, 11.6.1
			{"Newauth", map[string]string{"realm": "apps", "type": "1", "title": `Login to "apps"`}},
			{"Basic", map[string]string{"realm": "simple"}},
		},
		`Negotiate, NTLM, Digest nonce=a/b=, qop="auth"`: {
			{"Negotiate", map[string]string{}}, {"NTLM", map[string]string{}}, {"Digest", map[string]string{"nonce": "a/b=", "qop": "auth"}},
		},
		`realm="x"`: nil,
		``:          nil,
	} {
		if got := Parse([]string{text}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n%v, want\n%v", text, got, want)
		}
	}
}

func TestFirstChallengeThatIsUnderstood(t *testing.T) {
	s, stale := New(Parse([]string{
		`Digest realm="a", nonce="1", algorithm=SHA-9`, `Digest realm="b", nonce="2", qop="auth-int"`, `Digest realm="c", qop=auth`,
		`Digest realm="d", nonce="4", algorithm=SHA-256, stale=TRUE`, `Digest realm="e", nonce="5"`,
	}))
	if s == nil || s.realm != "d" || !stale {
		t.Errorf("%+v, stale: %v", s, stale)
	}
	first, second := s.Authorization("GET", "/", "u", "p"), s.Authorization("GET", "/", "u", "p")
	if first != second { // without qop there is no count
		t.Errorf("%s, then %s", first, second)
	}
}

func FuzzChallenge(f *testing.F) {
	f.Add(`Digest realm="a\"b", nonce="1", qop="auth", algorithm=MD5-sess, Basic realm=x`)
	f.Add("Digest nonce=\x01, realm=\"\r\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		all := Parse([]string{text, text})
		if len(all) > maxChallenges {
			t.Fatalf("%d challenges", len(all))
		}
		s, _ := New(all)
		if s == nil {
			return
		}
		got := s.Authorization("GET", "/x?y", "user", "secret")
		if strings.Contains(got, "secret") && !strings.Contains(text, "secret") || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q", got)
		}
		back := Parse([]string{got})
		if len(back) != 1 || back[0].Params["nonce"] == "" || back[0].Params["uri"] != "/x?y" {
			t.Fatalf("%q is read as %v", got, back)
		}
	})
}
