package store

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNameFromURL(t *testing.T) {
	for in, want := range map[string]string{
		"http://h":                     "index.html",
		"http://h/":                    "index.html",
		"http://h/a/":                  "index.html",
		"http://h/a/b.iso?x=/y#z/q":    "b.iso",
		"http://h/a%20b%C3%A9.txt":     "a bé.txt",
		"http://h/..":                  "_.",
		"http://h/.":                   "_",
		"http://h/.bashrc":             "_bashrc",
		"http://h/%2e%2e%2fetc%2f":     "_._etc_",
		"http://h/a%5Cb%00c%0a%1b%9b":  "a_b_c___",
		"http://h/a%E2%80%AEb":         "a_b", // right-to-left override
		"http://h/%20":                 "index.html",
		"http://h/-rf":                 "-rf",
		"http://h/x.tar.gz;v=1":        "x.tar.gz;v=1",
		"mailto:someone":               "index.html",
		"http://h/%F0%9F%98%80.png":    "😀.png",
		"http://h/" + "a%FFb" + ".txt": "a_b.txt",
	} {
		if fat, differs := map[string]string{"http://h/..": "_", "http://h/%20": "_"}[in]; (*Run)(nil).fatRules() && differs {
			want = fat // no dot and no blank may be at the end
		}
		if got := NameFromURL(parse(t, in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

func TestNamesForFAT(t *testing.T) {
	for in, want := range map[string]string{
		"con": "_con", "CON.txt": "_CON.txt", "con .txt": "_con .txt", "console": "console",
		"lpt1.x": "_lpt1.x", "com¹": "_com¹", "com10": "com10", "com": "com",
		"a:b*c?": "a_b_c_", "a. .": "a_", "nul.": "nul_",
	} {
		if got := cleanName(in, true); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := cleanName("a:b. ", false); got != "a:b. " {
		t.Errorf("elsewhere: %q", got)
	}
}

func TestLongNamesKeepTheirExtension(t *testing.T) {
	got := cleanName(strings.Repeat("é", 300)+".tar.xz", false)
	if len(got) > maxName || len(got) < maxName-1 || !strings.HasSuffix(got, "é.xz") || !utf8.ValidString(got) {
		t.Fatalf("%d bytes: %q", len(got), got)
	}
	if got := cleanName("a."+strings.Repeat("b", 300), false); len(got) != maxName {
		t.Fatalf("%d bytes: %q", len(got), got)
	}
}

func FuzzNameFromURL(f *testing.F) {
	for _, s := range []string{
		"http://h/a", "http://h/%2e%2e", "http://h/..%2f", "http://h/a%5c%00", "http://h/con", "x:y",
		"http://h/%ff%fe", "http://h/" + strings.Repeat("%c3%a9", 200) + ".gz", "http://h/.%20.",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := url.Parse(s)
		if err != nil {
			u = &url.URL{Path: s}
		}
		safe(t, NameFromURL(u))
		safe(t, cleanName(s, false))
		safe(t, cleanName(s, true))
	})
}

// FuzzServedName: a file stays in its directory, whatever its server calls it, and
// looks like no part or journal of another download.
func FuzzServedName(f *testing.F) {
	for _, s := range []string{"a.bin", "../../a", `..\..\a`, "/etc/passwd", ".bashrc", "x.part", "X.PART.JSON", "con", "a/", "\x00", "…/\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		path := Target{Dir: "d", Sub: "s", Served: true}.served(filepath.Join("d", "s", "url"), s)
		if filepath.Dir(path) != filepath.Join("d", "s") || isPart(path) {
			t.Fatalf("%q leads to %q", s, path)
		}
		safe(t, filepath.Base(path))
	})
}

func safe(t *testing.T, name string) {
	t.Helper()
	bad := func(r rune) bool { return r == '/' || r == '\\' || unicode.IsControl(r) }
	if name == "" || strings.HasPrefix(name, ".") || strings.ContainsFunc(name, bad) ||
		!utf8.ValidString(name) || len(name) > maxName {
		t.Fatalf("%q is not safe", name)
	}
}
