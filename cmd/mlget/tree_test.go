package main_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// oddNames are those of files in a directory to be fetched, and as what they are
// saved on a file system that takes anything.
func oddNames() map[string]string {
	long := strings.Repeat("ä", 120) + ".html" // 245 bytes
	return map[string]string{
		"plain.html":               "plain.html",
		"empty":                    "empty",
		"two words & more;#?":      "two words & more;#?",
		"100%":                     "100%",
		"%41":                      "%41",
		"a+b=c":                    "a+b=c",
		"..x":                      "_.x",
		"'quotes\"<b>":             "'quotes\"<b>",
		"ünïcödé-\u65e5\u672c.txt": "ünïcödé-\u65e5\u672c.txt",
		"caf\u00e9":                "caf\u00e9",
		"cafe\u0301":               "cafe\u0301",
		"README":                   "README",
		"readme":                   "readme",
		long:                       strings.Repeat("ä", 115) + ".html", // 236 bytes at most, between letters
		"sub/deep/er/x":            "sub/deep/er/x",
		"sub/same":                 "sub/same",
		"same":                     "same",
		"a b/c d/e":                "a b/c d/e",
	}
}

// writeTree makes these files below dir, each with content of its own, and gives
// the hashes of their content.
func writeTree(t *testing.T, dir string, names map[string]string) map[string]string {
	t.Helper()
	sums := make(map[string]string)
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	n := 0
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range names {
			if !yield(name) {
				return
			}
		}
	}) {
		n++
		b := testbody.Body{Size: int64(1000*n + n), Seed: uint64(n)}
		if name == "empty" {
			b.Size = 0
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		text, err := io.ReadAll(b.Reader())
		check(t, err)
		check(t, os.WriteFile(path, text, 0o644))
		check(t, os.Chtimes(path, at, at))
		sums[names[name]] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return sums
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filesBelow gives the hashes of all files below dir.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	sums := make(map[string]string)
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		sums[filepath.ToSlash(name)] = fmt.Sprintf("%x", sha256.Sum256(text))
		return err
	}))
	return sums
}

func wantFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%q is missing, or something else", name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%q is there, too", name)
		}
	}
}

// counted counts the requests to a handler, and the bytes that it sends.
type counted struct {
	http.Handler
	mu    sync.Mutex
	paths []string
	bytes int64
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.paths = append(c.paths, r.URL.Path)
	c.mu.Unlock()
	c.Handler.ServeHTTP(counting{w, c}, r)
}

// counting is a ResponseWriter; it hides what would go past its Write.
type counting struct {
	http.ResponseWriter
	c *counted
}

func (w counting) Write(p []byte) (int, error) {
	w.c.mu.Lock()
	w.c.bytes += int64(len(p))
	w.c.mu.Unlock()
	return w.ResponseWriter.Write(p)
}

func (w counting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// seen gives what was counted since the last call.
func (c *counted) seen() (paths []string, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	paths, bytes = c.paths, c.bytes
	c.paths, c.bytes = nil, 0
	return paths, bytes
}

// TestTreeOfGo fetches a directory with odd names, and what is missing of it later.
func TestTreeOfGo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("names are odd in other ways on", runtime.GOOS)
	}
	root, dir := t.TempDir(), t.TempDir()
	want := writeTree(t, filepath.Join(root, "pub"), oddNames())
	check(t, os.WriteFile(filepath.Join(root, "secret"), []byte("not asked for"), 0o600))
	site := &counted{Handler: http.FileServer(http.Dir(root))}
	server := httptest.NewServer(site)
	defer server.Close()

	get := func(args ...string) result {
		return mlget(t, dir, append([]string{"-r", server.URL + "/pub", "-P", "out"}, args...)...)
	}
	get("--report", "r.json", "--no-steal").want(t, 0) // which promises that nothing comes twice
	wantFiles(t, filesBelow(t, filepath.Join(dir, "out")), want)
	if got := filesBelow(t, dir); len(got) != len(want)+1 {
		t.Errorf("there are %d files in all", len(got))
	}
	if r := readReport(t, filepath.Join(dir, "r.json")); r.FilesTotal != len(want) || r.FilesDone != len(want) || r.WastedBytes != 0 {
		t.Errorf("%d of %d files, %d bytes wasted", r.FilesDone, r.FilesTotal, r.WastedBytes)
	}
	if paths, _ := site.seen(); slices.ContainsFunc(paths, func(p string) bool { return !strings.HasPrefix(p, "/pub") && p != "/robots.txt" }) {
		t.Errorf("it asked for %q", paths)
	}

	// All is there: a byte of each file is asked for, and the pages.
	get("--report", "r.json").want(t, 0, "18 files, 17 there before")
	wantFiles(t, filesBelow(t, filepath.Join(dir, "out")), want)
	if _, bytes := site.seen(); bytes > 10_000 {
		t.Errorf("%d bytes were sent for nothing", bytes)
	}

	// So they are with the slashes that "$BASE/" and "/pub" leave together.
	mlget(t, dir, "-r", server.URL+"//pub//", "-P", "out").want(t, 0, "18 files, 17 there before")

	// One is gone, one was cut off, one is another's.
	out := filepath.Join(dir, "out")
	check(t, os.Remove(filepath.Join(out, "sub/deep/er/x")))
	check(t, os.Truncate(filepath.Join(out, "same"), 5))
	check(t, os.WriteFile(filepath.Join(out, "plain.html"), []byte("mine"), 0o600))
	get().want(t, 0)
	now := filesBelow(t, out)
	if len(now) != len(want)+2 || now["same.1"] != want["same"] || now["plain.html.1"] != want["plain.html"] ||
		now["sub/deep/er/x"] != want["sub/deep/er/x"] {
		t.Errorf("there are %d files", len(now))
	}
	get().want(t, 0, "17 there before")
	if again := filesBelow(t, out); len(again) != len(now) {
		t.Errorf("there are %d files, and were %d", len(again), len(now))
	}
}

// startNginx has nginx list what is below root, until the test's end. It gives none
// if nginx ends at once.
func startNginx(t *testing.T, exe, dir, root string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	address = l.Addr().String()
	check(t, l.Close())
	conf := filepath.Join(dir, "nginx.conf")
	check(t, os.WriteFile(conf, fmt.Appendf(nil, `daemon off; master_process off; user root; pid %[1]s/pid;
events {} http { access_log off; charset utf-8; keepalive_requests 7;
client_body_temp_path %[1]s/t; proxy_temp_path %[1]s/t; fastcgi_temp_path %[1]s/t; uwsgi_temp_path %[1]s/t; scgi_temp_path %[1]s/t;
server { listen %[2]s; root %[3]s; autoindex on; } }`, dir, address, root), 0o600))
	nginx := exec.Command(exe, "-c", conf, "-e", filepath.Join(dir, "err"))
	check(t, nginx.Start())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = nginx.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = nginx.Process.Kill()
		<-over
	})
	for deadline := time.Now().Add(hang); ; {
		select {
		case <-over:
			return ""
		case <-time.After(20 * time.Millisecond):
		}
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatal("nginx does not listen")
		}
	}
}

// TestTreeOfNginx is the same with the listing that is found most.
func TestTreeOfNginx(t *testing.T) {
	exe, err := exec.LookPath("nginx")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("nginx is not installed")
	}
	root, dir := t.TempDir(), t.TempDir()
	names := oddNames()
	delete(names, "..x") // it does not list what begins with a dot
	want := writeTree(t, filepath.Join(root, "pub"), names)
	address := ""
	for try := 0; address == ""; try++ { // until it has a port that nobody else has taken meanwhile
		if try == 5 {
			said, _ := os.ReadFile(filepath.Join(dir, "err"))
			t.Fatalf("nginx does not start: %s", said)
		}
		address = startNginx(t, exe, dir, root)
	}
	mlget(t, dir, "-r", "-P", "out", "http://"+address+"/pub/", "--report", "r.json").want(t, 0)
	wantFiles(t, filesBelow(t, filepath.Join(dir, "out")), want)
	mlget(t, dir, "-r", "-P", "out", "http://"+address+"/pub/").want(t, 0, "17 files, 16 there before")
	mlget(t, dir, "-r", "-P", "none", "http://"+address+"/none/").want(t, 8, "/none/: .*404")
}

// hostile serves pages that lead anywhere but where they should.
func hostile(w http.ResponseWriter, r *http.Request) {
	const head = "<html><body><pre>"
	switch p := r.URL.Path; {
	case p == "/pub/":
		_, _ = io.WriteString(w, head+`<a href="../">../</a><a href="../../etc/passwd">a</a><a href="/etc/passwd">b</a>
<a href="http://127.0.0.1:1/pub/x">c</a><a href="file:///etc/passwd">d</a><a href="%2e%2e/%2e%2e/up">e</a>
<a href="..%2f..%2fup">f</a><a href="..%5c..%5cup">g</a><a href="ok">ok</a><a href="ok?C=M">ok</a>
<a href="nul%00l">h</a><a href="line%0aend">i</a><a href="esc%1b[2J">j</a><a href=".profile">k</a>
<a href="sub%2fname">l</a><a href="`+strings.Repeat("l", 300)+`">m</a><a href="moved/">n</a><a href="not/">o</a>
<a href="con">p</a><a href="ok.part">q</a><a href="bare">r</a>`)
	case p == "/pub/moved/":
		http.Redirect(w, r, "/elsewhere/", http.StatusFound)
	case p == "/elsewhere/":
		_, _ = io.WriteString(w, head+`<a href="x">x</a>`)
	case p == "/pub/bare": // as H2O's pages name a directory
		http.Redirect(w, r, p+"/", http.StatusMovedPermanently)
	case p == "/pub/bare/":
		_, _ = io.WriteString(w, head+`<a href="../ok">x</a><a href="../../../etc/passwd">y</a>`)
	case p == "/pub/not/":
		w.WriteHeader(http.StatusInternalServerError)
	case strings.HasPrefix(p, "/pub/"):
		http.ServeContent(w, r, "", modified(), strings.NewReader("content of "+strconv.Quote(p)))
	default:
		_, _ = io.WriteString(w, "should not be asked for: "+p)
	}
}

// TestHostileTree: nothing lands outside the directory, and nothing is asked for
// outside the tree; what is wrong is said, and the rest is done.
func TestHostileTree(t *testing.T) {
	t.Parallel()
	site := &counted{Handler: http.HandlerFunc(hostile)}
	server := httptest.NewServer(site)
	defer server.Close()
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	check(t, os.MkdirAll(inner, 0o755))
	r := mlget(t, inner, "-r", "-P", "out", server.URL+"/pub/")
	r.want(t, 7, "/pub/moved/: .*leads out of the directory", "/pub/not/: .*500")
	for name := range filesBelow(t, dir) {
		if !strings.HasPrefix(name, "a/b/out/") {
			t.Errorf("%q is outside", name)
		}
	}
	got := filesBelow(t, filepath.Join(inner, "out"))
	want := []string{"_profile", "con", "esc_[2J", "line_end", "nul_l", "ok", "ok.part_", "sub_name", strings.Repeat("l", 236)}
	if runtime.GOOS == "windows" || runtime.GOOS == "android" {
		want[1] = "_con"
	}
	slices.Sort(want)
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range got {
			if !yield(name) {
				return
			}
		}
	})
	if !slices.Equal(names, want) {
		t.Errorf("there are\n%q, want\n%q", names, want)
	}
	paths, _ := site.seen()
	for _, p := range paths {
		if !strings.HasPrefix(p, "/pub/") && p != "/elsewhere/" && p != "/robots.txt" || strings.Contains(p, "..") {
			t.Errorf("it asked for %q", p)
		}
	}
}

// redirected has pages of directories, those that are called moved at another place.
func redirected(to string, seen *counted) http.Handler {
	seen.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/moved/"):
			http.Redirect(w, r, to, http.StatusFound)
		case strings.HasSuffix(r.URL.Path, "/"):
			_, _ = io.WriteString(w, `<a href="x">x</a><a href="/all/of/it">it</a>`)
		default:
			http.ServeContent(w, r, "", modified(), strings.NewReader("of "+r.URL.Path))
		}
	})
	return seen
}

// TestTreeMoves: a redirect of the first page leads deeper, or nowhere.
func TestTreeMoves(t *testing.T) {
	for to, want := range map[string][]string{
		"/data/moved/on/": {"x"},
		"/data/":          nil,
		"/":               nil,
		"/other/moved/x/": nil,
	} {
		dir := t.TempDir()
		server := httptest.NewServer(redirected(to, &counted{}))
		r := mlget(t, dir, "-q", "-r", server.URL+"/data/moved/")
		server.Close()
		if want == nil {
			r.want(t, 7, "leads out of the directory: to "+to)
		} else {
			r.want(t, 0)
		}
		if got := slices.Collect(maps.Keys(filesBelow(t, dir))); !slices.Equal(got, want) {
			t.Errorf("to %s: %q", to, got)
		}
	}
}

// TestTreePasswordAtAnotherPort: it is nobody else's there, with TLS or without.
func TestTreePasswordAtAnotherPort(t *testing.T) {
	dir := t.TempDir()
	var other counted
	secure := httptest.NewTLSServer(redirected("", &other))
	defer secure.Close()
	asked := httptest.NewServer(redirected(secure.URL+"/data/moved/on/", &counted{}))
	defer asked.Close()
	ca := filepath.Join(dir, "ca.pem")
	check(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	mlget(t, dir, "-q", "-r", "-P", "out", "--cacert", ca, "-u", "alice:"+password, "-H", "Cookie: "+password, asked.URL+"/data/moved/").
		want(t, 7, "leads out of the directory: to https://")
	if paths, _ := other.seen(); !slices.Equal(paths, []string{"/data/moved/on/"}) { // which it was given without, see TestCredentialsStay
		t.Errorf("it asked for %q", paths)
	}
}

// movedToTLS is a proxy for example.com: of its port 80, which sends to port 443 with some of
// its pages, and of that. seen gives the requests that came to the latter.
func movedToTLS(t *testing.T, dir string) (ca string, seen func() []*http.Request) {
	t.Helper()
	var mu sync.Mutex
	var requests []*http.Request
	var pages counted
	inner := redirected("", &pages)
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests = append(requests, r)
		mu.Unlock()
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			if user, secret, _ := r.BasicAuth(); user != "alice" || secret != password {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			http.Redirect(w, r, "https://example.com"+r.URL.Path, http.StatusMovedPermanently)
			return
		}
		out, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil || r.Host != "example.com:443" {
			t.Errorf("tunnel to %s: %v", r.Host, err)
			return
		}
		defer out.Close() //nolint:errcheck // the tunnel ends
		in, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer in.Close() //nolint:errcheck // the tunnel ends
		_, _ = io.WriteString(in, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(out, in) }()
		_, _ = io.Copy(in, out)
	}))
	t.Cleanup(proxy.Close)
	t.Setenv("http_proxy", proxy.URL)
	t.Setenv("https_proxy", proxy.URL)
	ca = filepath.Join(dir, "ca.pem")
	check(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600))
	return ca, func() []*http.Request {
		mu.Lock()
		defer mu.Unlock()
		return requests
	}
}

// TestTreePasswordAfterMoveToTLS: a directory may have moved from http to https, and is
// fetched there; but what was meant for port 80 stays there, be it in the URL, an option, a
// header or a file. Where https was named as well, it is meant for that.
func TestTreePasswordAfterMoveToTLS(t *testing.T) {
	const host = "example.com/data/"
	netrc := "machine example.com login alice password " + password
	for name, c := range map[string]struct {
		args []string
		sent bool
	}{
		"URL":         {[]string{"http://alice:" + password + "@" + host}, false},
		"-u":          {[]string{"-u", "alice:" + password, "http://" + host}, false},
		"headers":     {[]string{"-H", "Authorization: Basic " + basic("alice", password), "-H", "Cookie: " + password, "http://" + host}, false},
		"netrc":       {[]string{"--netrc", "http://" + host}, false},
		"named twice": {[]string{"-u", "alice:" + password, "http://" + host, "https://" + host}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ca, seen := movedToTLS(t, dir)
			check(t, os.WriteFile(filepath.Join(dir, ".netrc"), []byte(netrc), 0o600))
			t.Setenv("HOME", dir)
			t.Setenv("USERPROFILE", dir) // Windows' word for it
			mlget(t, dir, append([]string{"-q", "-r", "-P", "out", "--cacert", ca}, c.args...)...).want(t, 0)
			if _, ok := filesBelow(t, filepath.Join(dir, "out"))["x"]; !ok {
				t.Error("the file has not come")
			}
			sent, files := false, 0
			for _, r := range seen() {
				sent = sent || r.Header.Get("Authorization")+r.Header.Get("Cookie") != ""
				if strings.HasSuffix(r.URL.Path, "/x") {
					files++
				}
			}
			if sent != c.sent || files == 0 {
				t.Errorf("credentials were sent: %v; %d requests for files", sent, files)
			}
		})
	}
}

func basic(user, secret string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + secret))
}

// TestTreeOfAmpersands: a page of the largest size is read in no time, whatever is in it.
func TestTreeOfAmpersands(t *testing.T) {
	page := `<a href="` + strings.Repeat("&", 8<<20-100) + `">x</a>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, page)
	}))
	defer server.Close()
	mlget(t, t.TempDir(), "-q", "-r", server.URL+"/").want(t, 7, "the directory is too large: a path of 83885.. bytes")
}

// TestNoTree: an empty directory has nothing to fetch, which is no error. What is no
// page at all names no file either, but somebody wanted it.
func TestNoTree(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ".iso"):
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, "of an operating system")
		case r.URL.Path == "/one/":
			_, _ = io.WriteString(w, `<a href="x.iso">x.iso</a>`)
		default:
			_, _ = io.WriteString(w, "<html><h1>Index of nothing</h1></html>")
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	mlget(t, dir, "-r", "-P", "out", server.URL+"/none/").want(t, 0, "names no file below itself")
	mlget(t, dir, "-r", "-P", "out", server.URL+"/x.iso").want(t, 7, `^mlget: http://.*/x\.iso: it is not a page of links: without -r it is downloaded$`)
	if files := filesBelow(t, dir); len(files) > 0 {
		t.Errorf("there are %v", files)
	}
	mlget(t, dir, "-r", "-P", "out", server.URL+"/one/", server.URL+"/x.iso").want(t, 7, "not a page of links")
	if files := filesBelow(t, dir); len(files) != 1 {
		t.Errorf("there are %v", files)
	}
}

// TestEndlessTree: a directory that contains itself ends.
func TestEndlessTree(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			_, _ = io.WriteString(w, `<a href="again/">again</a><a href="x">x</a>`)
			return
		}
		http.ServeContent(w, r, "", modified(), strings.NewReader("x"))
	}))
	defer server.Close()
	dir := t.TempDir()
	mlget(t, dir, "-r", "-P", "out", server.URL).want(t, 7, "too large: .* directories deep")
	if n := len(filesBelow(t, dir)); n != 33 {
		t.Errorf("%d files", n)
	}
	// A page that never ends is none.
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, strings.Repeat("<a href=x>x</a>", 1000)); err != nil {
				return
			}
		}
	})
	mlget(t, dir, "-r", "-P", "none", server.URL).want(t, 7, "larger than 8 MiB")
}
