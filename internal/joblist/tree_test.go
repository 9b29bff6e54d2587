package joblist

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func parse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func tree(t testing.TB, at string, b Bounds) *Tree {
	t.Helper()
	tree, err := NewTree(parse(t, at), parse(t, at), b)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// paths are those of what was found, decoded and sorted.
func paths(t testing.TB, all []Found) (list []string) {
	for _, f := range all {
		list = append(list, parse(t, f.URL).Path)
	}
	slices.Sort(list)
	return list
}

func urls(all []Found) (list []string) {
	for _, f := range all {
		list = append(list, f.URL)
	}
	return list
}

// The listings in testdata are what the servers that they are named after make of
// one directory; its README says which were written by hand.
func TestListings(t *testing.T) {
	const at = "http://h/data/set/"
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) < 5 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			files, dirs, err := tree(t, at, DefaultBounds()).Page(parse(t, at), text)
			if err != nil {
				t.Fatal(err)
			}
			const path = "/data/set/"
			if got, want := paths(t, files), []string{path + "a b & c.txt", path + "plain.bin", path + "umlaut-ä.txt"}; !slices.Equal(got, want) {
				t.Errorf("files: got %q, want %q", got, want)
			}
			if got, want := paths(t, dirs), []string{path + "sub/"}; !slices.Equal(got, want) {
				t.Errorf("directories: got %q, want %q", got, want)
			}
			exact := strings.HasPrefix(filepath.Base(page), "nginx")
			for _, f := range files {
				switch {
				case exact && f.URL == at+"plain.bin" && f.Size != 123456,
					!exact && f.Size >= 0 && f.Size != 5: // 5 is not rounded
					t.Errorf("%s: size %d", f.URL, f.Size)
				}
			}
		})
	}
}

func TestTreeScope(t *testing.T) {
	const at = "http://h/data/set/"
	for href, want := range map[string]string{
		"x":                               at + "x",
		"./x":                             at + "x",
		"../set/x":                        at + "x",
		"/data/set/x":                     at + "x",
		"//h/data/set/x":                  at + "x",
		"http://H:80/data/set/x":          "http://H:80/data/set/x",
		"HTTP://h/data/set/x":             at + "x",
		"sub/x":                           at + "sub/x",
		"x#y":                             at + "x",
		"x%2Fy":                           at + "x%2Fy", // one element, and its name one too
		"%64%61":                          at + "%64%61",
		"/%64ata/set/x":                   "http://h/%64ata/set/x",
		"x&amp;y&#39;&#x41;":              at + "x&y'A",
		" x ":                             at + "x",
		"":                                "",
		".":                               "",
		"..":                              "",
		"../":                             "",
		"/":                               "",
		"/data/":                          "",
		"/data/settings":                  "",
		"/data/set":                       "",
		"../../etc/passwd":                "",
		"%2e%2e/x":                        "",
		"%2E%2E%2Fx":                      "",
		"sub/%2e%2e/%2e%2e/x":             "",
		`..\x`:                            "",
		`..%5c..%5cx`:                     "",
		"x//y":                            "",
		"http://other/data/set/x":         "",
		"https://h/data/set/x":            "",
		"http://h:81/data/set/x":          "",
		"?C=N;O=D":                        "",
		"x?y":                             "",
		"x?":                              "",
		"#top":                            "",
		"javascript:alert(1)":             "",
		"mailto:a@b":                      "",
		"ftp://h/data/set/x":              "",
		"http:x":                          "",
		"http://h@evil/data/set/x":        "",
		"http://u:p@h/data/set/x":         at + "x", // whose password, is not for a page to say
		"x%zz":                            "",
		"\x00":                            "",
		strings.Repeat("../", 1000) + "x": "",
	} {
		files, dirs, err := tree(t, at, DefaultBounds()).Page(parse(t, at), fmt.Appendf(nil, "<a href=\"%s\">x</a>", href))
		if err != nil || len(dirs) != 0 {
			t.Errorf("%q: directories %q, %v", href, urls(dirs), err)
		}
		if got := strings.Join(urls(files), " "); got != want {
			t.Errorf("%q: got %q, want %q", href, got, want)
		}
	}
}

func TestTreeDirectories(t *testing.T) {
	start := parse(t, "http://u:p@h/data")
	tr, err := NewTree(start, parse(t, "http://h/data/"), DefaultBounds())
	if err != nil {
		t.Fatal(err)
	}
	files, dirs, err := tr.Page(parse(t, "http://h/data/"), []byte(`<a href="b/">b</a><A HREF='b/'>b</A><a href=b/c/d.txt>d</a><a href="a%2fb/x">`))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(files, dirs)
	want := "[{http://u:p@h/data/b/c/d.txt b/c -1} {http://u:p@h/data/a%2fb/x a_b -1}] [{http://u:p@h/data/b/ b -1}]"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	// A page that is elsewhere than it was asked for says nothing.
	if _, _, err := tr.Page(parse(t, "http://h/other/"), []byte(`<a href="/data/x">x</a>`)); !errors.Is(err, ErrElsewhere) {
		t.Errorf("a page of elsewhere: %v", err)
	}
	// What is in two pages is there once.
	if files, _, _ := tr.Page(parse(t, "http://h/data/b/"), []byte(`<a href="c/d.txt">`)); len(files) != 0 {
		t.Errorf("again: %v", files)
	}
}

func TestTreeStart(t *testing.T) {
	for _, c := range []struct {
		asked, start string
		ok           bool
	}{
		{"http://h/a", "http://h/a/", true},
		{"http://h/a/index.html", "http://h/a/index.html", true},
		{"http://h/a/", "https://h/a/", true},
		{"http://h", "http://h", true},
		{"https://h/a/", "http://h/a/", false},
		{"http://h/a/", "http://h:81/a/", false},
		{"http://h/a/", "http://evil/a/", false},
		{"http://h/a/", "http://h/%2e%2e/", false},
	} {
		if _, err := NewTree(parse(t, c.asked), parse(t, c.start), DefaultBounds()); (err == nil) != c.ok {
			t.Errorf("%s to %s: %v", c.asked, c.start, err)
		}
	}
}

func TestTreeBounds(t *testing.T) {
	var page strings.Builder
	for i := range 100 {
		fmt.Fprintf(&page, "<a href=f%d>f</a><a href=d%d/>d</a>", i, i)
	}
	at := parse(t, "http://h/")
	for _, c := range []struct {
		b           Bounds
		files, dirs int
	}{
		{Bounds{Depth: 1, Directories: 100, Files: 99}, 99, 99},
		{Bounds{Depth: 1, Directories: 50, Files: 100}, 51, 50},
		{Bounds{Depth: 0, Directories: 50, Files: 100}, 100, 0},
	} {
		files, dirs, err := tree(t, "http://h/", c.b).Page(at, []byte(page.String()))
		if !errors.Is(err, ErrBounds) || len(files) != c.files || len(dirs) != c.dirs {
			t.Errorf("%+v: %d files, %d directories, %v", c.b, len(files), len(dirs), err)
		}
	}
}

func TestLinksOfNoListing(t *testing.T) {
	for page, want := range map[string]string{
		"":          "[]",
		"<a href=x": "[{x -1}]",
		`<!-- <a href="no"> --><script>"<a href=no>"</SCRIPT><a href="yes">`: "[{yes -1}]",
		`<a title="<a href=no>" href='yes'>`:                                 "[{yes -1}]",
		`<a href="1" href="2"><abbr href=no><a\thref=no>`:                    "[{1 -1}]",
		`<a href="never ends`:                                                "[{never ends -1}]",
		`<!-- <a href="no">`:                                                 "[]",
		`<a href="&amp;&unknown;&#0;&#x110000;&lt">`:                         "[{&&unknown;&#0;&#x110000;&lt -1}]",
		"<a href=f>f</a>  20-Nov-2026 11:41   007\n":                         "[{f 7}]",
		"<a href=f>f</a>  20-Nov-2026 11:41   1.2K\n":                        "[{f -1}]",
		"<a href=f>f</a>  20-Nov-2026 11:41   99999999999999999999999\n":     "[{f -1}]",
		"<a href=f>f</a>  11 12 13\n":                                        "[{f -1}]",
	} {
		if got := fmt.Sprint(Links([]byte(page), 10)); got != want {
			t.Errorf("%q: got %s, want %s", page, got, want)
		}
	}
	if got := len(Links([]byte(strings.Repeat("<a href=x>", 100)), 10)); got != 10 {
		t.Errorf("%d links", got)
	}
}

func FuzzPage(f *testing.F) {
	pages, _ := filepath.Glob("testdata/*.html")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`<a href="%2e%2e/x"><a href=..\x><a href='a//b'><a href="x&#x2f;..&#47;..&#47;y">`))
	at := parse(f, "http://h/data/set/")
	f.Fuzz(func(t *testing.T, page []byte) {
		files, dirs, err := tree(t, at.String(), Bounds{Depth: 2, Directories: 3, Files: 5}).Page(at, page)
		if err != nil && !errors.Is(err, ErrBounds) {
			t.Fatal(err)
		}
		if len(files) > 5 || len(dirs) > 3 {
			t.Fatalf("%d files, %d directories", len(files), len(dirs))
		}
		for _, f := range append(files, dirs...) {
			u, err := url.Parse(f.URL)
			if err != nil || u.Host != "h" && !strings.EqualFold(u.Host, "h:80") && !strings.EqualFold(u.Host, "h") ||
				!strings.HasPrefix(u.Path, "/data/set/") || u.RawQuery != "" || u.User != nil {
				t.Fatalf("%+v: %v", f, err)
			}
			if strings.HasPrefix(f.Dir, "/") || slices.Contains(strings.Split(f.Dir, "/"), "..") {
				t.Fatalf("%+v", f)
			}
		}
	})
}
