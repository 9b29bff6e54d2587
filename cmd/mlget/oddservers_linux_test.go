package main_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pythonServer is Python's web server as it is used to serve a directory: one connection at
// a time, without ranges, and with HTTP/1.1 each is kept until its client closes it.
const pythonServer = `
import http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
`

// Other people's servers that cannot do what mlget asks of them at first. wget and curl, with
// their one connection and without ranges, get every file from both.
func TestOtherServersThatAreOdd(t *testing.T) {
	for _, tt := range []struct {
		name string
		args func(port, root string) []string
	}{
		// It answers 400 where a range ends behind the file.
		{"webfsd", func(port, root string) []string {
			return []string{"webfsd", "-F", "-i", "127.0.0.1", "-p", port, "-r", root}
		}},
		{"python", func(port, _ string) []string {
			return []string{"python3", "-c", pythonServer, port}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			sizes := []int64{3_000_000, 0, 1, 5000, 700_000, 5_000_000, 1 << 20, 1<<20 + 1}
			var urls []string
			port := freePort(t)
			for i, size := range sizes {
				content := make([]byte, size)
				_, _ = body(size, "").ReadAt(content, 0) // io.EOF at its end
				check(t, os.WriteFile(filepath.Join(root, fmt.Sprint("f", i)), content, 0o644))
				urls = append(urls, "http://127.0.0.1:"+port+"/f"+fmt.Sprint(i))
			}
			args := tt.args(port, root)
			if _, err := exec.LookPath(args[0]); err != nil {
				t.Skip(err)
			}
			server := exec.CommandContext(t.Context(), args[0], args[1:]...)
			server.Dir = root
			check(t, server.Start())
			t.Cleanup(func() {
				_ = server.Process.Kill()
				_ = server.Wait()
			})
			awaitPort(t, port)

			dir := t.TempDir()
			list := filepath.Join(dir, "list")
			check(t, os.WriteFile(list, []byte(strings.Join(urls, "\n")), 0o600))
			// Nobody waits for a time-out: with -t 1 that would be the end.
			if r := startMlget(t, dir, "-t", "1", "-P", "list.d", "-i", list).end(t); r.code != 0 {
				t.Fatalf("exit %d: %s", r.code, r.stderr)
			}
			for i, u := range urls {
				name := fmt.Sprint("f", i)
				if r := startMlget(t, dir, "-t", "1", u).end(t); r.code != 0 {
					t.Fatalf("%s: exit %d: %s", name, r.code, r.stderr)
				}
				want, err := os.ReadFile(filepath.Join(root, name))
				check(t, err)
				for _, got := range []string{name, filepath.Join("list.d", name)} {
					have, err := os.ReadFile(filepath.Join(dir, got))
					check(t, err)
					if !bytes.Equal(have, want) {
						t.Errorf("%s: %d bytes, not the %d of the server", got, len(have), len(want))
					}
				}
			}
		})
	}
}

// freePort is one that nobody listens at.
func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { _ = ln.Close() }()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	check(t, err)
	return port
}

// awaitPort waits until somebody listens there.
func awaitPort(t testing.TB, port string) {
	t.Helper()
	for range 1000 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("nobody listens at port %s", port)
}
