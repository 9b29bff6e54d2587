package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forest serves a tree of directories, of which robots.txt asks to leave some alone; every
// file's content is its path.
func forest() http.Handler {
	pages := map[string]string{
		"/pub/set/": "a.txt b.jpg c.JPG deep/ private/ old.txt", "/pub/set/deep/": "a.txt d.jpg er/", "/pub/set/deep/er/": "e.jpg",
		"/pub/set/private/": "p.txt",
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names, isPage := pages[r.URL.Path]
		switch {
		case r.URL.Path == "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /pub/set/private/\nDisallow: /pub/set/old\n")
		case isPage:
			w.Header().Set("Content-Type", "text/html")
			for name := range strings.FieldsSeq(names) {
				_, _ = io.WriteString(w, `<a href="`+name+`">`+name+"</a>\n")
			}
		default:
			w.Header().Set("Etag", `"`+path.Base(r.URL.Path)+`"`)
			http.ServeContent(w, r, "", modified(), strings.NewReader(r.URL.Path))
		}
	})
}

// TestRecursionAsWget: wget, told the same, saves the same files in the same places.
func TestRecursionAsWget(t *testing.T) {
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Skip("wget is not installed")
	}
	server := httptest.NewServer(forest())
	defer server.Close()
	for _, c := range []struct{ ours, theirs string }{
		{"", "--cut-dirs=2"},
		{"-A .jpg", "--cut-dirs=2 -A .jpg"},
		{"-R txt,d* -np -nH", "--cut-dirs=2 -R txt,d*"},
		{"--level 2", "--cut-dirs=2 -l 2"},
		{"--cut-dirs=1 --accept-regex deep/", "--cut-dirs=1 --accept-regex deep/"},
		{"-nd --reject-regex set/a", "-nd --reject-regex set/a"},
		{"-e robots=off", "--cut-dirs=2 -e robots=off"},
		{"--wait 0.01", "--cut-dirs=2"},
	} {
		ours, theirs := t.TempDir(), t.TempDir()
		got := mlget(t, ours, append(append([]string{"-r"}, strings.Fields(c.ours)...), server.URL+"/pub/set/")...)
		got.want(t, 0)
		cmd := exec.Command(wget, append(append([]string{"-q", "-r", "-np", "-nH"}, strings.Fields(c.theirs)...), server.URL+"/pub/set/")...)
		cmd.Dir = theirs
		if out, err := cmd.CombinedOutput(); err != nil && len(out) > 0 {
			t.Fatalf("%v: %s", err, out)
		}
		list := func(dir string) (names []string) {
			for name := range filesBelow(t, dir) {
				switch base := filepath.Base(name); {
				case strings.HasPrefix(base, "index.html"), base == "robots.txt", strings.HasPrefix(base, ".mlget"): // of one of them only
				case c.ours != "" && strings.HasSuffix(base, ".1"): // where wget keeps the latter of two
				default:
					names = append(names, name)
				}
			}
			slices.Sort(names)
			return names
		}
		if have, want := list(ours), list(theirs); !slices.Equal(have, want) {
			t.Errorf("%s: %q, wget %q", c.ours, have, want)
		}
		if told := strings.Contains(got.stderr, "robots.txt asks to leave"); told != !strings.Contains(c.ours, "robots") {
			t.Errorf("%s: %s", c.ours, got.stderr)
		}
	}
}

// TestRobotsThatCannotBeRead: RFC 9309, 2.3.1: 4xx allows all, 5xx nothing.
func TestRobotsThatCannotBeRead(t *testing.T) {
	for status, code := range map[int]int{404: 0, 403: 0, 410: 0, 500: 8, 503: 8} {
		trees := forest()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.WriteHeader(status)
				return
			}
			trees.ServeHTTP(w, r)
		}))
		dir := t.TempDir()
		mlget(t, dir, "-r", "-t", "1", server.URL+"/pub/set/").want(t, code)
		want := 8
		if code != 0 {
			want = 0
		}
		if n := len(filesBelow(t, dir)); n != want {
			t.Errorf("%d: %d files, want %d", status, n, want)
		}
		mlget(t, t.TempDir(), "-r", "-t", "1", "--robots=off", server.URL+"/pub/set/").want(t, 0)
		server.Close()
	}
}
