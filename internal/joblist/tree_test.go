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
	tree, err := NewTree(parse(t, at), parse(t, at), b, nil)
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

// The listings in testdata/servers are what the servers that they are named after make of
// one directory; its README says which were written by hand.
func TestListings(t *testing.T) {
	const at = "http://h/data/set/"
	pages, err := filepath.Glob("../../testdata/servers/*.html")
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
		"a b (c)!":                        at + "a%20b%20(c)!",
		"(c)":                             at + "(c)",
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
		"\x00":                            at + "%EF%BF%BD", // U+FFFD, by the HTML standard
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
	tr, err := NewTree(start, parse(t, "http://h/data/"), DefaultBounds(), nil)
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
	// At another port, that of https included, no password is anybody's.
	moved, err := NewTree(start, parse(t, "https://h/data/"), DefaultBounds(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if files, _, err := moved.Page(parse(t, "https://h/data/"), []byte(`<a href=x>x</a>`)); err != nil || fmt.Sprint(urls(files)) != "[https://h/data/x]" {
		t.Errorf("moved to https: %v, %v", urls(files), err)
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
		{"http://h", "http://h/", true},
		{"http://h/", "http://h/en/", true},
		{"http://h/a", "http://h/a", true},
		{"http://h/a/", "http://h/a/b/", true},
		{"http://h/a/", "http://h/a/index.html", true},
		{"http://h/a/index.html", "http://h/a/", true},
		{"http://h/a/../b", "http://h/b/", true},
		{"http://h/%61/", "http://h/a/", true},
		{"http://h:80/a/", "https://H:443/a/", true},
		{"http://h/a/", "http://h/", false},
		{"http://h/a", "http://h/", false},
		{"http://h/a/", "http://h/a", false}, // whose links are the whole site's
		{"http://h/a/b/", "http://h/a/c/", false},
		{"http://h/a", "http://h/ab/", false},
		{"http://h/a/", "https://h/", false},
		{"http://h/a/", "https://h:8443/a/", false},
		{"http://h:8080/a/", "https://h/a/", false},
		{"http://h:8080/a/", "https://h:8080/a/", false},
		{"https://h/a/", "http://h/a/", false},
		{"http://h/a/", "http://h:81/a/", false},
		{"http://h/a/", "http://evil/a/", false},
		{"http://h/a/", "http://h/%2e%2e/", false},
	} {
		if _, err := NewTree(parse(t, c.asked), parse(t, c.start), DefaultBounds(), nil); (err == nil) != c.ok {
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
		{Bounds{Depth: 1, Directories: 100, Files: 99, Bytes: 1000}, 99, 99},
		{Bounds{Depth: 1, Directories: 50, Files: 100, Bytes: 1000}, 51, 50},
		{Bounds{Depth: 0, Directories: 50, Files: 100, Bytes: 1000}, 100, 0},
		{Bounds{Depth: 1, Directories: 100, Files: 100, Bytes: 31}, 5, 4}, // "/f0" and "/d0/"
	} {
		files, dirs, err := tree(t, "http://h/", c.b).Page(at, []byte(page.String()))
		if !errors.Is(err, ErrBounds) || len(files) != c.files || len(dirs) != c.dirs {
			t.Errorf("%+v: %d files, %d directories, %v", c.b, len(files), len(dirs), err)
		}
	}
}

// TestTreeEnter: a directory that was found as a file is entered once, within the bounds.
func TestTreeEnter(t *testing.T) {
	b := DefaultBounds()
	b.Directories = 2
	tr := tree(t, "http://h/set/", b)
	for _, c := range []struct {
		at    string
		enter bool
		err   error
	}{
		{"http://h/set/a/", true, nil},
		{"http://h/set/a/", false, nil},
		{"http://h/set/", false, nil},
		{"http://h/set/file", false, nil},
		{"http://h/other/", false, ErrElsewhere},
		{"http://x/set/b/", false, ErrElsewhere},
		{"http://h/set/b/", true, nil},
		{"http://h/set/c/", false, ErrBounds},
	} {
		if enter, err := tr.Enter(parse(t, c.at)); enter != c.enter || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", c.at, enter, err)
		}
	}
}

// TestTreeBytes: each link of a page repeats the page's own path, also one that is known.
func TestTreeBytes(t *testing.T) {
	page := func(links int) []byte {
		var b strings.Builder
		for i := range links {
			fmt.Fprintf(&b, "<a href=%d>", i/2)
		}
		return []byte(b.String())
	}
	at := parse(t, "http://h/"+strings.Repeat("d", maxPath-100)+"/")
	bounds := DefaultBounds()
	bounds.Bytes >>= 6
	tr := tree(t, "http://h/", bounds)
	files, _, err := tr.Page(at, page(2000))
	kept := 0
	for _, f := range files {
		kept += len(f.URL)
	}
	if most := bounds.Bytes; !errors.Is(err, ErrBounds) || kept > most || kept < most/3 {
		t.Errorf("%d bytes of URLs, %v", kept, err)
	}
	if files, _, err := tr.Page(at, page(2)); !errors.Is(err, ErrBounds) || len(files) > 0 {
		t.Errorf("another page: %d files, %v", len(files), err)
	}
	// A path is too long by itself, be it the page's or a link's within the tree.
	long := strings.Repeat("d", maxPath)
	at = parse(t, "http://h/"+long+"/")
	if files, _, err := tree(t, "http://h/", DefaultBounds()).Page(at, page(2)); !errors.Is(err, ErrBounds) || len(files) > 0 {
		t.Errorf("the page's path is long: %d files, %v", len(files), err)
	}
	at = parse(t, "http://h/")
	for link, ok := range map[string]bool{long: false, "data:" + long: true, "?" + long: true} {
		text := fmt.Appendf(nil, "<a href=%s><a href=x>", link)
		if files, _, err := tree(t, "http://h/", DefaultBounds()).Page(at, text); errors.Is(err, ErrBounds) == ok || len(files) != 1 {
			t.Errorf("%.5s is long: %d files, %v", link, len(files), err)
		}
	}
}

// TestEntitiesWithoutEnd: were each looked for to the end of the page, it would take twenty
// minutes.
func TestEntitiesWithoutEnd(t *testing.T) {
	href := strings.Repeat("&", 8<<20)
	if links := Links([]byte(`<a href="`+href+`">`), 10); len(links) != 1 || links[0].Href != href {
		t.Errorf("%d links", len(links))
	}
}

// TestLinksOfNoListing wants what the HTML standard says: a tag that the page's end cuts off is
// none, some entities need no semicolon, and what stands for no character is U+FFFD.
func TestLinksOfNoListing(t *testing.T) {
	for page, want := range map[string]string{
		"":          "[]",
		"<a href=x": "[]",
		`<!-- <a href="no"> --><script>"<a href=no>"</SCRIPT><a href="yes">`: "[{yes -1}]",
		`<a title="<a href=no>" href='yes'>`:                                 "[{yes -1}]",
		`<a href="1" href="2"><abbr href=no><a\thref=no>`:                    "[{1 -1}]",
		`<a href="never ends`:                                                "[]",
		`<!-- <a href="no">`:                                                 "[]",
		`<a href="&amp;&unknown;&#0;&#x110000;&lt">`:                         "[{&&unknown;\ufffd\ufffd< -1}]",
		`<a href="&&amp;&#000000065;&#0000000065;&#x10ffff;">`:               "[{&&AA\U0010ffff -1}]",
		`<noscript><a href="yes"></noscript><title><a href="no"></title>`:    "[{yes -1}]",
		"<a href=f>f</a><a name=x>x</a>  20-Nov-2026 11:41   7\n":            "[{f -1}]",
		"<a href=f>f</a><b></b>  20-Nov-2026 11:41   7\n":                    "[{f -1}]",
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
	pages, _ := filepath.Glob("../../testdata/servers/*.html")
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
		files, dirs, err := tree(t, at.String(), Bounds{Depth: 2, Directories: 3, Files: 5, Bytes: 1 << 20}).Page(at, page)
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
