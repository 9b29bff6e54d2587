package joblist

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forest is a tree of directories with files in it.
func forest() map[string][]string {
	return map[string][]string{
		"/pub/set/":         {"a.txt", "b.jpg", "C.JPG", "b.jpg.txt", "x[1].txt", "deep/", "other/"},
		"/pub/set/deep/":    {"a.txt", "d.jpg", "er/"},
		"/pub/set/deep/er/": {"e.jpg"},
		"/pub/set/other/":   {"o.txt"},
	}
}

func page(names []string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "<a href=\"%s\">x</a>\n", strings.NewReplacer("[", "%5B", "]", "%5D").Replace(n))
	}
	return b.String()
}

// walk is what a tree with a filter finds, by where the files go.
func walk(t *testing.T, base string, f *Filter) (found []string) {
	t.Helper()
	start := parse(t, base+"/pub/set/")
	tr, err := NewTree(start, start, DefaultBounds(), f)
	if err != nil {
		t.Fatal(err)
	}
	for todo := []string{start.String()}; len(todo) > 0; todo = todo[1:] {
		at := parse(t, todo[0])
		files, dirs, err := tr.Page(at, []byte(page(forest()[at.Path])))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range dirs {
			todo = append(todo, d.URL)
		}
		for _, file := range files {
			found = append(found, strings.TrimPrefix(file.Dir+"/"+filepath.Base(parse(t, file.URL).Path), "/"))
		}
	}
	slices.Sort(found)
	return found
}

// TestFilterAsWget: wget, told the same, saves the same files in the same directories.
func TestFilterAsWget(t *testing.T) {
	wget, err := exec.LookPath("wget")
	if err != nil {
		t.Skip("wget is not installed")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if names, ok := forest()[r.URL.Path]; ok {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(page(names)))
			return
		}
		_, _ = w.Write([]byte("x"))
	}))
	t.Cleanup(s.Close)
	for _, c := range []struct {
		args string
		f    Filter
	}{
		{"--cut-dirs=2", Filter{}},
		{"--cut-dirs=2 -A jpg", Filter{Accept: []string{"jpg"}}},
		{"--cut-dirs=2 -A txt,[bd].jpg", Filter{Accept: []string{"txt", "[bd].jpg"}}},
		{"--cut-dirs=2 -R .txt", Filter{Reject: []string{".txt"}}},
		{"--cut-dirs=2 -A *.jpg -R b*", Filter{Accept: []string{"*.jpg"}, Reject: []string{"b*"}}},
		{"--cut-dirs=2 -l 1", Filter{Level: 1}},
		{"--cut-dirs=2 -l 2", Filter{Level: 2}},
		{"--cut-dirs=2 --reject-regex=deep/[ad]", Filter{RejectRegex: regexp.MustCompile("deep/[ad]")}},
		{"--cut-dirs=0", Filter{Cut: true}},
		{"--cut-dirs=1", Filter{Cut: true, CutDirs: 1}},
		{"--cut-dirs=3", Filter{Cut: true, CutDirs: 3}},
		{"--cut-dirs=9 -A a.txt", Filter{Cut: true, CutDirs: 9, Accept: []string{"o.txt"}}},
		{"-nd -R a.txt", Filter{Flat: true, Reject: []string{"a.txt"}}},
	} {
		dir := t.TempDir()
		args := append([]string{"-q", "-r", "-np", "-nH", "-e", "robots=off"}, strings.Fields(strings.Replace(c.args, "-A a.txt", "-A o.txt", 1))...)
		cmd := exec.Command(wget, append(args, s.URL+"/pub/set/")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("wget %s: %v: %s", c.args, err, out)
		}
		var want []string
		err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
			// Pages are saved by wget only.
			if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), "index.html") {
				rel, _ := filepath.Rel(dir, name)
				want = append(want, filepath.ToSlash(rel))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if err := c.f.Check(); err != nil {
			t.Fatal(err)
		}
		// Of two files of one name wget keeps the latter.
		if got := slices.Compact(walk(t, s.URL, &c.f)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, wget %q", c.args, got, want)
		}
	}
}

func TestFilterChecksPatterns(t *testing.T) {
	if err := (&Filter{Accept: []string{"*.jpg", "[ab]"}}).Check(); err != nil {
		t.Error(err)
	}
	if err := (&Filter{Reject: []string{"[ab"}}).Check(); err == nil {
		t.Error("an open bracket is taken")
	}
}

// What an expression sees of a URL has no password, and the file keeps it.
func TestFilterSeesNoPassword(t *testing.T) {
	start := parse(t, "http://user:secret@h/pub/")
	tr, err := NewTree(start, start, DefaultBounds(), &Filter{RejectRegex: regexp.MustCompile("secret")})
	if err != nil {
		t.Fatal(err)
	}
	files, _, err := tr.Page(start, []byte(page([]string{"a"})))
	if err != nil || len(files) != 1 || parse(t, files[0].URL).User == nil {
		t.Errorf("%v, %v", files, err)
	}
}
