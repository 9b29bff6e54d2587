package main_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/testbody"
)

// clientsSite is what other people's programs fetch in TestProxyClients, in clear and over TLS.
type clientsSite struct {
	plain, secure string // URLs without a path
	body          testbody.Body
	wheel         []byte
	git           string // the program that serves git's repositories; empty: there is none
	root          string // of repositories

	mu      sync.Mutex
	asked   map[string]int // requests by path
	ranges  map[string]int // of these, with a range
	reports chan string    // what a page has said
}

func startClientsSite(t *testing.T, l *lab) *clientsSite {
	t.Helper()
	s := &clientsSite{
		body: testbody.Body{Size: 6_000_000, Seed: 54}, root: t.TempDir(),
		asked: map[string]int{}, ranges: map[string]int{}, reports: make(chan string, 10),
	}
	s.wheel = s.makeWheel(t)
	if out, err := exec.Command("git", "--exec-path").Output(); err == nil {
		if exe := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"); check1(os.Stat(exe)) {
			s.git = exe
		}
	}
	s.plain = siteAt(t, l, 8095, s.ServeHTTP)
	ln, err := l.Listen(8096)
	check(t, err)
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{l.Certificate()}, MinVersion: tls.VersionTLS12},
	}
	var serving sync.WaitGroup
	serving.Go(func() { servedWell(t, server.ServeTLS(ln, "", "")) })
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	s.secure = "https://192.0.2.1:8096"
	return s
}

func check1(_ os.FileInfo, err error) bool { return err == nil }

const (
	images      = 100
	filmSeconds = 60
	soundRate   = 176_400 // bytes per second
)

func (s *clientsSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	if r.Header.Get("Range") != "" {
		s.ranges[r.URL.Path]++
	}
	s.mu.Unlock()
	serve := func(name string, content io.ReadSeeker) {
		w.Header().Set("Etag", `"it"`)
		http.ServeContent(w, r, name, modified(), content)
	}
	switch path := path.Clean(r.URL.Path); {
	case path == "/body.bin":
		serve("", s.body.Reader())
	case path == "/simple/mlgetprobe":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><a href="../../files/mlgetprobe-1.0-py3-none-any.whl">mlgetprobe-1.0-py3-none-any.whl</a>`)
	case strings.HasSuffix(path, ".whl"):
		serve("", bytes.NewReader(s.wheel))
	case path == "/apt/Packages":
		b, _ := io.ReadAll(s.body.Reader())
		_, _ = fmt.Fprintf(w, "Package: mlgetprobe\nVersion: 1.0\nArchitecture: all\nMaintainer: nobody <nobody@example.org>\nDescription: a test\n"+
			"Filename: ./mlgetprobe.deb\nSize: %d\nSHA256: %x\n", len(b), sha256.Sum256(b))
	case path == "/apt/mlgetprobe.deb":
		serve("", s.body.Reader())
	case path == "/page":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, filmPage)
	case strings.HasPrefix(path, "/image/"):
		m := image.NewRGBA(image.Rect(0, 0, 64, 64))
		m.Set(1, 1, color.White)
		w.Header().Set("Content-Type", "image/png")
		_ = png.Encode(w, m)
	case path == "/film.wav":
		serve("film.wav", bytes.NewReader(silence(filmSeconds)))
	case path == "/report":
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1000))
		s.reports <- string(b)
	case strings.HasPrefix(path, "/repo.git/"):
		h := cgi.Handler{Path: s.git, Env: []string{"GIT_PROJECT_ROOT=" + s.root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ann"}, Stderr: io.Discard}
		h.ServeHTTP(w, r)
	default:
		http.NotFound(w, r)
	}
}

// filmPage loads images and a film, goes to the film's middle, and tells what came of it.
const filmPage = `<!doctype html><title>page</title><video id=v muted preload=metadata src=/film.wav></video><script>
const all = [];
for (let i = 0; i < 100; i++) all.push(new Promise(done => {
  const m = new Image(); m.onload = () => done(1); m.onerror = () => done(0); m.src = '/image/' + i; document.body.append(m);
}));
all.push(new Promise(done => {
  v.onloadedmetadata = () => { v.currentTime = 45; };
  v.onseeked = () => done(v.readyState >= 2 ? 1 : 0);
  v.onerror = () => done(0);
}));
Promise.all(all).then(r => fetch('/report', {method: 'POST', body: r.reduce((a, b) => a + b) + ' of ' + r.length + ', at ' + v.currentTime + ' s'}));
</script>`

// silence is a WAVE file without a sound.
func silence(seconds int) []byte {
	n := seconds * soundRate
	head := []byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x44\xac\x00\x00\x10\xb1\x02\x00\x04\x00\x10\x00data\x00\x00\x00\x00")
	for i := range 4 {
		head[4+i], head[40+i] = byte((n+36)>>(8*i)), byte(n>>(8*i))
	}
	return append(head, make([]byte, n)...)
}

// makeWheel is a Python package that holds the body.
func (s *clientsSite) makeWheel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]io.Reader{
		"mlgetprobe/__init__.py":            strings.NewReader(""),
		"mlgetprobe/data":                   s.body.Reader(),
		"mlgetprobe-1.0.dist-info/METADATA": strings.NewReader("Metadata-Version: 2.1\nName: mlgetprobe\nVersion: 1.0\n"),
		"mlgetprobe-1.0.dist-info/WHEEL":    strings.NewReader("Wheel-Version: 1.0\nGenerator: mlget\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
		"mlgetprobe-1.0.dist-info/RECORD":   strings.NewReader("mlgetprobe/__init__.py,,\nmlgetprobe/data,,\nmlgetprobe-1.0.dist-info/METADATA,,\nmlgetprobe-1.0.dist-info/WHEEL,,\nmlgetprobe-1.0.dist-info/RECORD,,\n"),
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		check(t, err)
		_, err = io.Copy(w, text)
		check(t, err)
	}
	check(t, z.Close())
	return b.Bytes()
}

// TestProxyClients: programs that know nothing of mlget fetch through the proxy and the gateway,
// over two links, what they fetch without them.
func TestProxyClients(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1000, TLS: true}, fastWiFi, fastLTE)
	s := startClientsSite(t, l)
	// Whom to trust, for the proxy's gateway, and for programs where this machine says otherwise.
	for _, name := range []string{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO"} {
		t.Setenv(name, l.CA())
	}
	t.Setenv("PIP_CONFIG_FILE", os.DevNull)
	addr, stop := startProxy(t, l)
	proxy := "http://" + addr
	whole, err := io.ReadAll(s.body.Reader())
	check(t, err)
	python := func(more string) []string { return []string{"python3", "-c", more} }
	download := func(index string, more ...string) []string {
		return append([]string{"python3", "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--disable-pip-version-check", "-d", ".", "--index-url", index, "mlgetprobe"}, more...)
	}
	apt := func(source string, more ...string) []string {
		for _, dir := range []string{"state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"} {
			check(t, os.MkdirAll(filepath.Join(s.root, "apt", dir), 0o755))
		}
		dir := filepath.Join(s.root, "apt")
		list := filepath.Join(dir, "etc", fmt.Sprintf("%d.list", len(more)))
		check(t, os.WriteFile(list, []byte("deb [trusted=yes] "+source+" ./\n"), 0o644))
		options := append([]string{
			"-q", "-o", "Dir::State=" + dir + "/state", "-o", "Dir::Cache=" + dir + "/cache", "-o", "Dir::Etc::sourcelist=" + list,
			"-o", "Dir::Etc::sourceparts=-", "-o", "Dir::State::status=/dev/null", "-o", "APT::Sandbox::User=root",
		}, more...)
		quoted := "'" + strings.Join(options, "' '") + "'"
		return []string{"sh", "-c", "apt-get " + quoted + " update && apt-get " + quoted + " download mlgetprobe"}
	}
	for _, c := range []struct {
		name  string
		needs []string // commands that have to succeed, else the program is not there
		run   []string
		file  string // that holds the body then; empty: its standard output
		wheel bool   // it is a package that holds the body
	}{
		{name: "curl", needs: []string{"curl", "--version"}, run: []string{"curl", "-sSf", "-x", proxy, s.plain + "/body.bin"}},
		{name: "curl with TLS", needs: []string{"curl", "--version"}, run: []string{"curl", "-sSf", "--cacert", l.CA(), "-x", "socks5h://" + addr, s.secure + "/body.bin"}},
		{name: "curl, by the gateway", needs: []string{"curl", "--version"}, run: []string{"curl", "-sSf", proxy + "/" + s.secure + "/body.bin"}},
		{name: "wget", needs: []string{"wget", "--version"}, run: []string{"wget", "-q", "-O", "-", "-e", "use_proxy=on", "-e", "http_proxy=" + proxy, s.plain + "/body.bin"}},
		{name: "wget with TLS", needs: []string{"wget", "--version"}, run: []string{"wget", "-q", "-O", "-", "--ca-certificate", l.CA(), "-e", "use_proxy=on", "-e", "https_proxy=" + proxy, s.secure + "/body.bin"}},
		{name: "aria2", needs: []string{"aria2c", "--version"}, run: []string{"aria2c", "-q", "-x4", "-s4", "-k1M", "--all-proxy=" + proxy, "-o", "f", s.plain + "/body.bin"}, file: "f"},
		{name: "aria2 with TLS", needs: []string{"aria2c", "--version"}, run: []string{"aria2c", "-q", "-x4", "-s4", "-k1M", "--ca-certificate=" + l.CA(), "--all-proxy=" + proxy, "-o", "f", s.secure + "/body.bin"}, file: "f"},
		{
			name: "requests", needs: python("import requests"),
			run: python(fmt.Sprintf("import requests, sys\nfor u in %q, %q: b = requests.get(u, proxies={'http': %q, 'https': %q}, verify=%q).content\nsys.stdout.buffer.write(b)", s.plain+"/body.bin", s.secure+"/body.bin", proxy, proxy, l.CA())),
		},
		{
			name: "urllib", needs: python("pass"),
			run: python(fmt.Sprintf("import urllib.request as r, sys\nsys.stdout.buffer.write(r.build_opener(r.ProxyHandler({'http': %q})).open(%q).read())", proxy, s.plain+"/body.bin")),
		},
		{
			name: "Node's fetch, by the gateway", needs: []string{"node", "-e", "if (!globalThis.fetch) process.exit(1)"},
			run: []string{"node", "-e", fmt.Sprintf("fetch(%q).then(r => r.arrayBuffer()).then(b => require('fs').writeFileSync('f', Buffer.from(b)))", proxy+"/"+s.plain+"/body.bin")}, file: "f",
		},
		{
			name: "Node's http", needs: []string{"node", "--version"},
			run: []string{"node", "-e", fmt.Sprintf("require('http').get({host: '127.0.0.1', port: 8118, path: %q}, r => r.pipe(require('fs').createWriteStream('f')))", s.plain+"/body.bin")}, file: "f",
		},
		{name: "pip", needs: python("import pip"), run: download(s.plain+"/simple/", "--trusted-host", "192.0.2.1", "--proxy", proxy), file: "mlgetprobe-1.0-py3-none-any.whl", wheel: true},
		{name: "pip with TLS", needs: python("import pip"), run: download(s.secure+"/simple/", "--cert", l.CA(), "--proxy", proxy), file: "mlgetprobe-1.0-py3-none-any.whl", wheel: true},
		{name: "pip, by the gateway", needs: python("import pip"), run: download(proxy+"/"+s.plain+"/simple/", "--trusted-host", "127.0.0.1"), file: "mlgetprobe-1.0-py3-none-any.whl", wheel: true},
		{name: "apt", needs: []string{"apt-get", "--version"}, run: apt(s.plain+"/apt", "-o", "Acquire::http::Proxy="+proxy), file: "mlgetprobe_1.0_all.deb"},
		{name: "apt, by the gateway", needs: []string{"apt-get", "--version"}, run: apt(proxy+"/"+s.plain+"/apt", "-o", "Acquire::http::Proxy=false", "-q"), file: "mlgetprobe_1.0_all.deb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if exec.Command(c.needs[0], c.needs[1:]...).Run() != nil {
				t.Skip("it is not installed")
			}
			got, err := s.fetch(t, l, c.run, c.file)
			want := whole
			if c.wheel {
				want = s.wheel
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d: %v", len(got), len(want), err)
			}
		})
	}
	t.Run("git", func(t *testing.T) { s.clone(t, l, proxy) })
	t.Run("Chromium", func(t *testing.T) { s.browse(t, l, proxy) })
	said := stop()
	for _, name := range l.Links() {
		if strings.Contains(said, "link "+name+": 0 connections, 0 B up, 0 B down") {
			t.Errorf("%s carried nothing:\n%s", name, said)
		}
	}
}

// fetch runs a command and returns what it has fetched.
func (s *clientsSite) fetch(t *testing.T, l *lab, args []string, file string) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, args[0], args[1:]...)
	c.Dir = t.TempDir()
	c.Env = append(c.Env, "HOME="+c.Dir)
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s %s", err, out.Bytes()[:min(500, out.Len())], said.String())
	}
	if file == "" {
		return out.Bytes(), nil
	}
	return os.ReadFile(filepath.Join(c.Dir, file))
}

// clone has git clone a repository over https, and send a commit back.
func (s *clientsSite) clone(t *testing.T, l *lab, proxy string) {
	if s.git == "" {
		t.Skip("git, or its http-backend, is not installed")
	}
	data := filepath.Join(s.root, "data")
	check(t, os.WriteFile(data, []byte("first\n"), 0o600))
	script := `set -e
git init -q --bare ` + s.root + `/repo.git
git -C ` + s.root + `/repo.git config http.receivepack true
git config --global user.email nobody@example.org
git config --global user.name nobody
git config --global http.proxy ` + proxy + `
git config --global http.postBuffer 65536
git clone -q ` + s.secure + `/repo.git work
cd work
cp ` + data + ` .
head -c 1000000 /dev/urandom > noise
git add .
git commit -q -m first
git push -q origin HEAD:refs/heads/main
cd ..
git clone -q -b main --depth 1 ` + s.secure + `/repo.git again
cmp work/noise again/noise`
	if _, err := s.fetch(t, l, []string{"sh", "-c", script}, ""); err != nil {
		t.Error(err)
	}
}

// browse has Chromium load a page with a hundred images and a film, in which it seeks.
func (s *clientsSite) browse(t *testing.T, l *lab, proxy string) {
	exe, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("Chromium is not installed")
	}
	for _, by := range []string{proxy, strings.Replace(proxy, "http:", "socks5:", 1)} {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		dir := t.TempDir()
		c := l.Command(ctx, exe, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-dev-shm-usage", "--user-data-dir="+dir, "--proxy-server="+by, "--remote-debugging-port=0", s.plain+"/page")
		c.Env = append(c.Env, "HOME="+dir)
		check(t, c.Start())
		select {
		case got := <-s.reports:
			if want := fmt.Sprintf("%d of %d, at 45 s", images+1, images+1); got != want {
				t.Errorf("by %s: %s, want %s", by, got, want)
			}
		case <-ctx.Done():
			t.Errorf("by %s: the page was never done", by)
		}
		cancel()
		_ = c.Wait() // it was killed
		s.mu.Lock()
		if n := s.ranges["/film.wav"]; n < 2 {
			t.Errorf("by %s: %d requests for parts of the film, want a seek's, too", by, n)
		}
		s.asked, s.ranges = map[string]int{}, map[string]int{}
		s.mu.Unlock()
	}
}
