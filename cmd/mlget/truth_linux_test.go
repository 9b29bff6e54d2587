package main_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/testbody"
)

// served are files for all servers: a large one and many small ones.
type served struct {
	root   string
	large  testbody.Body
	bodies map[string]testbody.Body // the small ones, by their path below the root
}

// largeName is the large file's name: of a type that no server compresses.
const largeName = "large.bin"

func newServed(t *testing.T) served {
	t.Helper()
	root, err := os.MkdirTemp("", "mlget-served-")
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	check(t, os.Chmod(root, 0o755)) // for servers that do not run as root
	s := served{root: root, large: testbody.Body{Size: 12e6 + 345, Seed: 80}, bodies: map[string]testbody.Body{}}
	s.write(t, largeName, s.large)
	for i := range 40 {
		dir := []string{"set", "set/sub", "set/a b"}[i%3]
		name := fmt.Sprintf("%s/file-%02d%s", dir, i, []string{".html", ".txt", ".bin", ".json", ".gz"}[i%5])
		s.bodies[name] = testbody.Body{Size: int64(i*i*40 + i), Seed: uint64(100 + i)}
		s.write(t, name, s.bodies[name])
	}
	return s
}

func (s served) write(t *testing.T, name string, b testbody.Body) {
	t.Helper()
	path := filepath.Join(s.root, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	check(t, err)
	_, err = io.Copy(f, b.Reader())
	check(t, err)
	check(t, f.Close())
	check(t, os.Chtimes(path, modified(), modified()))
}

// TestOtherServers downloads from servers that others have written, over two links,
// with each version of HTTP: one large file, and a job of many.
func TestOtherServers(t *testing.T) {
	t.Parallel()
	files := newServed(t)
	for _, s := range webServers() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, linklab.Config{Size: 1000, TLS: true}, fastWiFi, fastLTE)
			address := s.start(t, l, files.root)
			plain, secure := fmt.Sprintf("http://%s:%d/", address, clearPort), fmt.Sprintf("https://%s:%d/", address, securePort)
			for _, p := range []protocol{
				{"HTTP 1.1 in clear", plain, "1.1", nil},
				{"HTTP 1.1 over TLS", secure, "1.1", []string{"--http1.1", "--cacert", l.CA()}},
				{"HTTP 2 over TLS", secure, "2", []string{"--cacert", l.CA()}},
			} {
				t.Run(p.name, func(t *testing.T) {
					files.fetchLarge(t, l, p)
					files.fetchList(t, l, p)
					if p.http != "2" {
						return
					}
					// Validators and pages are the same with all.
					files.resume(t, l, p)
					if s.name != "h2o" { // its pages do not tell a directory from a file
						files.fetchTree(t, l, p)
					}
				})
			}
			t.Run("errors", func(t *testing.T) {
				l.mlget(t, plain+"none").want(t, 8, "404")
				l.mlget(t, secure+largeName).want(t, 5, "^mlget: .*certificate")
			})
		})
	}
}

// fetchLarge downloads the large file, with both links at work.
func (s served) fetchLarge(t *testing.T, l *lab, p protocol) {
	t.Helper()
	out := filepath.Join(l.dir, "large.out")
	report := filepath.Join(l.dir, "large.json")
	for try := 1; ; try++ {
		l.mlget(t, append(p.args, "-o", out, "--report", report, p.url+largeName)...).want(t, 0)
		wantHash(t, out, s.large)
		check(t, os.Remove(out))
		r := readReport(t, report)
		if r.Retries != 0 && try < 3 {
			continue // a busy machine may have been silent itself; a server's habit shows each time
		}
		if r.HTTP != p.http || carriers(r) != 2 || r.Retries != 0 {
			t.Errorf("HTTP %q over %d links, want %q over 2; %d retries", r.HTTP, carriers(r), p.http, r.Retries)
		}
		return
	}
}

// fetchList downloads all files of a list as one job.
func (s served) fetchList(t *testing.T, l *lab, p protocol) {
	t.Helper()
	dir := t.TempDir()
	list := strings.Builder{}
	list.WriteString(p.url + largeName + "\n")
	for name := range s.bodies {
		list.WriteString(p.url + strings.ReplaceAll(name, " ", "%20") + "\n")
	}
	input := filepath.Join(dir, "list.txt")
	check(t, os.WriteFile(input, []byte(list.String()), 0o600))
	out := filepath.Join(dir, "out")
	l.mlget(t, append(p.args, "-q", "-P", out, "-i", input)...).want(t, 0)
	wantHash(t, filepath.Join(out, largeName), s.large)
	for name, b := range s.bodies {
		wantHash(t, filepath.Join(out, filepath.Base(name)), b)
	}
	entries, err := os.ReadDir(out)
	check(t, err)
	if len(entries) != len(s.bodies)+1 {
		t.Errorf("%d files, want %d", len(entries), len(s.bodies)+1)
	}
}

// fetchTree downloads a directory by the pages that the server makes of it, and
// finds it all there in the next run.
func (s served) fetchTree(t *testing.T, l *lab, p protocol) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	args := append(slices.Clone(p.args), "-r", "-P", out, p.url+"set/")
	l.mlget(t, args...).want(t, 0)
	want := map[string]string{}
	for name, b := range s.bodies {
		want[strings.TrimPrefix(name, "set/")] = b.SHA256()
	}
	wantFiles(t, filesBelow(t, out), want)
	l.mlget(t, args...).want(t, 0, fmt.Sprintf("%d there before", len(want)-1)) // one is empty
	wantFiles(t, filesBelow(t, out), want)
}

// resume cuts the large file off, and goes on: the validators of the server hold
// from one run to the next.
func (s served) resume(t *testing.T, l *lab, p protocol) {
	t.Helper()
	out := filepath.Join(l.dir, "cut.out")
	report := filepath.Join(l.dir, "cut.json")
	args := append(p.args, "-q", "-o", out, "--report", report, p.url+largeName)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	first := &running{Cmd: l.command(ctx, append(args, "--limit-rate", "4M")...)}
	first.Stderr = &first.stderr
	check(t, first.Start())
	l.waitFor(t, 2e6)
	check(t, first.Signal(syscall.SIGINT))
	first.end(t).want(t, 130)
	l.mlget(t, args...).want(t, 0)
	wantHash(t, out, s.large)
	if r := readReport(t, report); r.ResumedBytes == 0 {
		t.Error("the second run began anew")
	}
	check(t, os.Remove(out))
}

// wantHash checks that a file is a body.
func wantHash(t testing.TB, name string, b testbody.Body) {
	t.Helper()
	if have := fileHash(t, name); have != b.SHA256() {
		t.Errorf("%s is not what was served", name)
	}
}
