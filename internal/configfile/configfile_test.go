package configfile

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	const text = "\ufeff# comment\r\n\n  retry = 3\r\n--max-time 5 # seconds\n-k\nheader: \"X: a \\\"b\\\"\\tc\"\nuser\t=\t\"\"\nlink=wlan0,cap=50G/month\nverbose # yes\n-ufoo:bar\nurl = http://h/?a=b#c\n"
	want := []Option{
		{3, "retry", false, "3", true},
		{4, "max-time", false, "5", true},
		{5, "k", true, "", false},
		{6, "header", false, "X: a \"b\"\tc", true},
		{7, "user", false, "", true},
		{8, "link", false, "wlan0,cap=50G/month", true},
		{9, "verbose", false, "", false},
		{10, "ufoo:bar", true, "", false},
		{11, "url", false, "http://h/?a=b#c", true},
	}
	if got, err := Parse(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v, want\n%+v", err, got, want)
	}
}

func TestMistakesNameTheLine(t *testing.T) {
	for text, want := range map[string]error{
		"a = 1\n= secret":                     errName,
		"\n-- secret":                         errName,
		"\nuser = \"secret":                   errQuote,
		"\nuser = my secret":                  errBlank,
		"\nuser = \"my\" secret":              errBlank,
		"\n" + strings.Repeat("x", maxLine+1): nil,
	} {
		_, err := Parse(strings.NewReader(text))
		mistake, ok := errors.AsType[*Error](err)
		if !ok || mistake.Line != 2 || want != nil && !errors.Is(err, want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

// TestCurlReadsTheSame: curl sends the headers that this package reads.
func TestCurlReadsTheSame(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	var sent http.Header
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header }))
	t.Cleanup(s.Close)
	name := filepath.Join(t.TempDir(), "config")
	for _, line := range []string{
		`header = "X-Test: a b"`, `header "X-Test: \"q\" \\ x"`, `header: X-Test:v`, `--header X-Test:v=w`, `-H "X-Test: x"`,
		`header="X-Test: x"   # comment`, `header   =   X-Test:a#b`, "\theader\t\"X-Test: x\\ty\"", `--header "X-Test: = :"`, `header = : "X-Test: x"`,
	} {
		text := "# first\n" + line + "\nurl = " + s.URL + "\nsilent\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sent = nil
		if out, err := exec.Command(curl, "-q", "-K", name).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		all, err := Parse(strings.NewReader(text))
		if err != nil || len(all) != 3 {
			t.Errorf("%s: %v, %v", line, all, err)
			continue
		}
		if _, value, _ := strings.Cut(all[0].Value, ":"); strings.TrimSpace(value) != sent.Get("X-Test") {
			t.Errorf("%s: %q, curl sends %q", line, value, sent.Get("X-Test"))
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a = \"b\\\"c\" # d\n-k\n--x y\n")
	f.Add("url: http://h/\n\"\n= =")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(strings.NewReader(text))
		if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
			t.Fatalf("error of several lines: %q", err)
		}
		last := 0
		for _, o := range all {
			if o.Line <= last || o.Name == "" || o.Name[0] == '-' || !o.HasValue && o.Value != "" || len(o.Value) > len(text) {
				t.Fatalf("%+v behind line %d", o, last)
			}
			last = o.Line
		}
	})
}
