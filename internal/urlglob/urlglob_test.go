package urlglob

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func patterns() []string {
	return []string{
		"x", "[1-3].bin", "[01-10:3]", "[8-11]", "[a-e:2]", "[X-Z]", "{a,b}", "{one,two}[1-2]{x,y}", "[001-003]-[1-2]",
		`\{a,b\}`, `\[1-2\]`, `{a\,b,c}`, "[5-5]", "a{b}c", "[0-0]", "q?x=[1-2]&y={u,v}", "[9-010]", "[1-1:1]", "[a-a]", "[0009-11]",
		// Of these curl refuses some.
		"[3-1]", "[1-3", "{a,b", "a}", "b]", "[z-a]", "[1-]", "[-1]", "[1-a]", "[a-1]", "{a,,b}", "{,a}", "{a,}", "[1-3:0]", "[1-3:]", "[1-3:9]",
		"[1-2:2]", "{a,{b}}", "{[1-2]}", "[a-c:4]", "[A-z]", "[aa-bb]", "[ 1-2]", "[1-1:2]",
	}
}

// TestSameURLsAsCurl: what curl asks for, and how it names the files by #1 and #2, or that it
// refuses the pattern.
func TestSameURLsAsCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.RequestURI) }))
	t.Cleanup(s.Close)
	for _, p := range patterns() {
		asked = nil
		dir := t.TempDir()
		// There curl escapes nothing, nor does it take dots out.
		cmd := exec.Command(curl, "-sS", "--path-as-is", "-o", "f_#1_#2#", s.URL+"/"+p)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		g, refused := Parse(s.URL + "/" + p)
		if (err != nil) != (refused != nil) {
			t.Errorf("%s: %v; curl: %v: %s", p, refused, err, out)
			continue
		}
		if refused != nil {
			continue
		}
		var have, names []string
		for u := range g.All() {
			have = append(have, strings.TrimPrefix(u.Text, s.URL))
			if name := u.Name("f_#1_#2#"); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(have, asked) || len(have) != g.Count() {
			t.Errorf("%s: %q, curl asks for %q", p, have, asked)
		}
		var there []string
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			there = append(there, filepath.Base(e.Name()))
		}
		if !slices.Equal(names, there) {
			t.Errorf("%s: names %q, curl's %q", p, names, there)
		}
	}
}

func TestWhatIsNoPattern(t *testing.T) {
	for _, text := range []string{"http://[::1]:80/x", "http://[fe80::1%25eth0]/", "http://h/?a[]=1&b{}", "http://h/a-b,c"} {
		g, err := Parse(text)
		if err != nil || g.Count() != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for u := range g.All() {
			if u.Text != text || u.Name("#1#0x#") != "#1#0x#" {
				t.Errorf("%s became %s", text, u.Text)
			}
		}
	}
}

func TestTooManyURLsAreRefused(t *testing.T) {
	for text, ok := range map[string]bool{
		"[1-100000]": true, "[1-100001]": false, "[1-1000][1-100]": true, "[1-1000][1-101]": false,
		"[0-999999999999999999]": false, "[0-9999999999999999999]": false, strings.Repeat("[1-9]", 100): false,
	} {
		if _, err := Parse(text); (err == nil) != ok {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, p := range patterns() {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Parse(text)
		if err != nil {
			return
		}
		if g.Count() < 1 || g.Count() > Most {
			t.Fatalf("%d URLs", g.Count())
		}
		n := 0
		for u := range g.All() {
			if n++; n == 1000 {
				return
			}
			_ = u.Name(text)
		}
		if n != g.Count() {
			t.Fatalf("%d URLs, not %d", n, g.Count())
		}
		if !strings.ContainsAny(text, "{[\\") {
			for u := range g.All() {
				if u.Text != text {
					t.Fatalf("%q became %q", text, u.Text)
				}
			}
		}
	})
}
