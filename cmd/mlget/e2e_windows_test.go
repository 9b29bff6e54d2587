package main_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// meter is how many bytes a server may still send.
type meter struct{ left atomic.Int64 }

// metered serves an object of size bytes as far as m allows it, so that a download is not
// complete before it is killed, however fast the machine is.
func metered(t *testing.T, size int64, secure bool, m *meter) *httptest.Server {
	t.Helper()
	b := body(size, "")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"e"`)
		http.ServeContent(&meteredWriter{w, r.Context(), m}, r, "", modified(), b.Reader())
	}))
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server
}

type meteredWriter struct {
	http.ResponseWriter
	ctx context.Context // the request's
	*meter
}

func (w *meteredWriter) Write(b []byte) (n int, err error) {
	const most = 64 << 10
	for len(b) > 0 && err == nil {
		m := min(len(b), most)
		if w.left.Add(-int64(m)) < 0 {
			w.left.Add(int64(m))
			select {
			case <-w.ctx.Done():
				return n, w.ctx.Err()
			case <-time.After(5 * time.Millisecond):
				continue
			}
		}
		m, err = w.ResponseWriter.Write(b[:m])
		n, b = n+m, b[m:]
	}
	return n, err
}

// TestAcceptOutlivesResets: a connection that its peer resets before it is accepted ends no server,
// which all tests that kill a client rely on.
func TestAcceptOutlivesResets(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close() //nolint:errcheck // nothing is lost
	const resets = 100
	var wait sync.WaitGroup
	for range resets {
		wait.Go(func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err == nil {
				err = errors.Join(conn.(*net.TCPConn).SetLinger(0), conn.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	go func() {
		if conn, err := net.Dial("tcp", listener.Addr().String()); err == nil {
			defer conn.Close() //nolint:errcheck // nothing is lost
			_, _ = conn.Write([]byte("x"))
		}
	}()
	for n := 0; ; n++ { // those that were reset after all, then the last one
		conn, err := listener.Accept()
		if err != nil {
			t.Fatalf("after %d connections: %v", n, err)
		}
		b, _ := io.ReadAll(conn)
		_ = conn.Close()
		if string(b) == "x" {
			return
		}
	}
}

// TestKilledTenTimes: 50 MB come over HTTP and over TLS, whatever ends the program (here
// TerminateProcess), and what was written before counts.
func TestKilledTenTimes(t *testing.T) {
	for name, secure := range map[string]bool{"HTTP": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testKills(t, secure)
		})
	}
}

func testKills(t *testing.T, secure bool) {
	const size, kills = 50_000_000, 10
	var m meter
	server := metered(t, size, secure, &m)
	dir, args := t.TempDir(), []string{"--insecure", "--checksum", "sha256=" + body(size, "").SHA256(), server.URL + "/f.bin"}
	state := filepath.Join(dir, "f.bin.part.json")
	last := ""
	for n := range kills {
		m.left.Store(size / (kills + 2))
		p := startMlget(t, dir, args...)
		waitUntil(t, "a state that is new", func() bool {
			text, err := os.ReadFile(state)
			isNew := err == nil && strings.Contains(string(text), `"done":[{`) && string(text) != last
			if isNew {
				last = string(text)
			}
			return isNew
		})
		check(t, p.Process.Kill())
		if exitCode(t, p.Wait()) == 0 {
			t.Fatalf("mlget had ended before kill %d", n+1)
		}
	}
	m.left.Store(2 * size)
	mlget(t, dir, append(args, "--report", "r.json")...).want(t, 0)
	wantFile(t, filepath.Join(dir, "f.bin"), size, "")
	if r := readReport(t, filepath.Join(dir, "r.json")); r.ResumedBytes == 0 || r.ResumedBytes >= size {
		t.Errorf("%d bytes were resumed", r.ResumedBytes)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.part*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestInterruptSaves: after Ctrl-C the same command goes on.
func TestInterruptSaves(t *testing.T) {
	const size = 10_000_000
	var m meter
	m.left.Store(size / 2)
	server := metered(t, size, false, &m)
	dir := t.TempDir()
	p := startMlget(t, dir, server.URL+"/f.bin")
	waitForBytes(t, filepath.Join(dir, "f.bin.part"), 2<<20)
	check(t, interrupt(p.Process))
	p.end(t).want(t, 130, "^mlget: .*interrupted", "^mlget: hint: the same command goes on")
	m.left.Store(2 * size)
	mlget(t, dir, "--report", "r.json", server.URL+"/f.bin").want(t, 0)
	wantFile(t, filepath.Join(dir, "f.bin"), size, "")
	if r := readReport(t, filepath.Join(dir, "r.json")); r.ResumedBytes < 1<<20 {
		t.Errorf("%d bytes were resumed", r.ResumedBytes)
	}
}

// TestWindowsPaths: names that Windows reserves, in lists, in indexes and in headers; names that
// the user gives; and a path of more than 300 characters.
func TestWindowsPaths(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/pub/":
			_, _ = fmt.Fprint(w, `<a href="CON">x</a> <a href="nul.txt">x</a> <a href="aux/">x</a> <a href="./ab:c">x</a> <a href="dot.">x</a> <a href="plain">x</a>`)
			return
		case "/pub/aux/":
			_, _ = fmt.Fprint(w, `<a href="COM1.log">x</a>`)
			return
		case "/named":
			w.Header().Set("Content-Disposition", `attachment; filename="LPT1.txt"`)
		}
		b := body(3000, "")
		http.ServeContent(w, r, "", modified(), b.Reader())
	}))
	defer server.Close()
	dir := t.TempDir()
	wantThere := func(names ...string) {
		t.Helper()
		for _, name := range names {
			wantFile(t, filepath.Join(dir, filepath.FromSlash(name)), 3000, "")
		}
	}

	mlget(t, dir, server.URL+"/NUL", server.URL+"/con.tar.gz").want(t, 0)
	wantThere("_NUL", "_con.tar.gz")
	mlget(t, dir, "-r", server.URL+"/pub/", "-P", "tree").want(t, 0)
	wantThere("tree/_CON", "tree/_nul.txt", "tree/_aux/_COM1.log", "tree/ab_c", "tree/dot_", "tree/plain")
	mlget(t, dir, "-r", server.URL+"/pub/", "-P", "tree").want(t, 0, "6 files, 6 there before")
	check(t, os.WriteFile(filepath.Join(dir, "list"), []byte(server.URL+"/x\n out=PRN.txt\n"+server.URL+"/y\n dir=COM1/a.\n out=z:z\n"), 0o600))
	mlget(t, dir, "-i", "list", "-P", "listed").want(t, 0)
	wantThere("listed/_PRN.txt", "listed/_COM1/a_/z_z")
	mlget(t, dir, "--content-disposition", server.URL+"/named").want(t, 0)
	wantThere("_LPT1.txt")

	for _, name := range []string{"ab:c", "x.", "x ", "COM¹.txt"} {
		mlget(t, dir, "-o", name, server.URL+"/x").want(t, 3, "^mlget: .*not a file name on Windows", "^mlget: hint: .*-o FILE")
	}
	mlget(t, dir, "-q", "-o", "NUL", server.URL+"/x").want(t, 0)
	if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
		t.Error("x was made")
	}

	deep := strings.Repeat(strings.Repeat("d", 60)+"/", 5)
	mlget(t, dir, server.URL+"/far.bin", "-P", deep).want(t, 0)
	wantThere(deep + "far.bin")
	if n := len(filepath.Join(dir, deep, "far.bin")); n < 300 {
		t.Errorf("the path has %d characters", n)
	}
}
