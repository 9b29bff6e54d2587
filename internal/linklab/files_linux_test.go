package linklab

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/dataset"
)

// A set of files is the same from either server: list, index and hashes agree.
func TestServesFiles(t *testing.T) {
	for _, kind := range []ServerKind{ServerBuiltin, ServerNginx} {
		t.Run([]string{"builtin", "nginx"}[kind], func(t *testing.T) {
			if _, err := exec.LookPath("nginx"); kind == ServerNginx && err != nil {
				t.Skip("nginx is not installed")
			}
			set, err := dataset.Parse("html/3+image/2")
			if err != nil {
				t.Fatal(err)
			}
			l := startLab(t, Config{Scenario: parse(t, twoLinks), Files: &set, TLS: true, Server: kind})
			env := map[string]string{}
			for _, kv := range l.environment() {
				k, v, _ := strings.Cut(kv, "=")
				env[k] = v
			}
			urls := lines(t, env["LINKLAB_LIST"])
			if len(urls) != 5 || env["LINKLAB_FILES"] != "5" || env["LINKLAB_SIZE"] != fmt.Sprint(set.Bytes()) {
				t.Fatalf("%d URLs, %s files, %s bytes", len(urls), env["LINKLAB_FILES"], env["LINKLAB_SIZE"])
			}
			var sums strings.Builder
			d, h1 := dialer{lab: l}, protocols((*http.Protocols).SetHTTP1)
			for i, url := range append(urls, lines(t, env["LINKLAB_LIST_TLS"])...) {
				a := get(t, d, h1, url, http.Header{})
				f := set.File(i % 5)
				if a.n != f.Body.Size || !strings.HasPrefix(a.Header.Get("Etag"), `"`) {
					t.Errorf("%s: %s, %d bytes, ETag %s", url, a.Status, a.n, a.Header.Get("Etag"))
				}
				if i < 5 {
					fmt.Fprintf(&sums, "%s  %s\n", a.hash, f.Name)
				}
			}
			if want := strings.Join(lines(t, env["LINKLAB_SHA256SUMS"]), "\n") + "\n"; sums.String() != want {
				t.Errorf("got\n%swant\n%s", sums.String(), want)
			}
			testIndex(t, l, set)
		})
	}
}

// testIndex looks at the index page, and that nothing but the files is there.
func testIndex(t *testing.T, l *Lab, set dataset.Set) {
	t.Helper()
	out, err := l.Command(t.Context(), "curl", "-s", l.URL()).Output()
	if err != nil {
		t.Skipf("curl: %v", err)
	}
	if n := strings.Count(string(out), "<a href"); n != 1+set.Len() {
		t.Errorf("%d links in\n%s", n, out)
	}
	for i := range set.Len() {
		f := set.File(i)
		if !strings.Contains(string(out), fmt.Sprintf(" %d", f.Body.Size)) {
			t.Errorf("the size of %s is not in\n%s", f.Name, out)
		}
	}
	h1 := protocols((*http.Protocols).SetHTTP1)
	for _, name := range []string{"none", "html-0003.html", dataset.SumsName, "../" + dataset.SumsName} {
		if a := get(t, dialer{lab: l}, h1, l.URL()+name, http.Header{}); a.StatusCode/100 != 4 {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
}

func lines(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
