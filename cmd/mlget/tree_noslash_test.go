package main_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// unslashed is a site whose pages name directories without a slash.
type unslashed struct {
	mu   sync.Mutex
	seen []string
}

// files are those of the site; the pages that are saved as such are among them.
func (*unslashed) files() map[string]string {
	return map[string]string{
		"README":      "plain text",
		"page":        `<html>no index: <a href="README">this</a> and <a href="/elsewhere">that</a>`,
		"a.bin":       "a",
		"sub/x":       "x",
		"sub/deep/y":  "y",
		"v1.2/z":      "z",
		"v1.2/notes":  "of 1.2",
		"list/l":      "l",
		"list/more/m": "m",
	}
}

func (s *unslashed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.seen = append(s.seen, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	path, found := strings.CutPrefix(r.URL.Path, "/pub/")
	page := func(names ...string) {
		w.Header().Set("Content-Type", "text/html")
		for _, name := range names {
			_, _ = fmt.Fprintf(w, "<a href=%q>%s</a>\n", name, name)
		}
	}
	text, isFile := s.files()[path]
	switch {
	case !found:
		http.NotFound(w, r)
	case path == "":
		page("README", "page", "a.bin", "sub", "v1.2", "list", "/pub/README", "away")
	case path == "sub/":
		page("x", "deep", "../page")
	case path == "sub/deep/":
		page("y")
	case path == "v1.2/":
		page("z", "notes")
	case path == "list": // an index without a redirect, with whole paths
		page("/pub/list/l", "/pub/list/more")
	case path == "list/more":
		page("/pub/list/more/m")
	case path == "sub", path == "sub/deep", path == "v1.2":
		http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
	case path == "away":
		http.Redirect(w, r, "/else/where", http.StatusFound)
	case isFile:
		if path == "page" {
			w.Header().Set("Content-Type", "text/html")
		}
		http.ServeContent(w, r, "", modified(), strings.NewReader(text))
	default:
		http.NotFound(w, r)
	}
}

// requests are those since the last call, sorted.
func (s *unslashed) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	slices.Sort(seen)
	return seen
}

// TestTreeWithoutSlashes: a directory is entered that is named without a slash, as wget does;
// a file without an ending costs no request more than any other.
func TestTreeWithoutSlashes(t *testing.T) {
	t.Parallel()
	site := &unslashed{}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := t.TempDir()
	want := map[string]string{}
	for name, text := range site.files() {
		want[name] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	}
	get := func(args ...string) result {
		return mlget(t, dir, append([]string{"-r", server.URL + "/pub/", "-P", "out"}, args...)...)
	}
	get().want(t, 8, "/pub/away: .*404")
	wantFiles(t, filesBelow(t, filepath.Join(dir, "out")), want)
	count := func(path string) (n int) {
		for _, r := range site.requests() {
			if r == "GET "+path {
				n++
			}
			if strings.HasPrefix(r, "HEAD ") {
				t.Errorf("%s", r)
			}
		}
		return n
	}
	if n := count("/pub/README"); n != 1 {
		t.Errorf("README was asked for %d times", n)
	}

	// Once more: nothing is fetched again, under whatever name; -nc asks for no file.
	get().want(t, 8)
	wantFiles(t, filesBelow(t, filepath.Join(dir, "out")), want)
	site.requests()
	get("-nc").want(t, 8)
	wantFiles(t, filesBelow(t, filepath.Join(dir, "out")), want)
	if n := count("/pub/README"); n != 0 {
		t.Errorf("README is there, and was asked for %d times", n)
	}

	// Two levels are the first page, and what is below it.
	dir = t.TempDir()
	get("--level", "2").want(t, 8)
	got := filesBelow(t, filepath.Join(dir, "out"))
	if got["sub/x"] == "" || got["sub/deep/y"] != "" || got["v1.2/notes"] == "" {
		t.Errorf("with --level 2: %v", got)
	}

	// What wget has, mlget has, but for pages that name what is below them.
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Skip("no wget to compare with")
	}
	cmd := exec.Command(wget, "-q", "-r", "-np", "-nH", "--cut-dirs=1", "-l", "inf", "-e", "robots=off", server.URL+"/pub/")
	cmd.Dir = t.TempDir()
	_ = cmd.Run() // 8, for what is not there
	for name, sum := range filesBelow(t, cmd.Dir) {
		if filepath.Base(name) != "index.html" && name != "list" && name != "list/more" && want[name] != sum {
			t.Errorf("wget has %s, and mlget another", name)
		}
	}
}
