package daemon

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/engine"
)

// asDaemon makes the test's own program a daemon, so that one can be killed.
const asDaemon = "MLGET_TEST_DAEMON"

func TestMain(m *testing.M) {
	if args := os.Getenv(asDaemon); args != "" {
		cmd := NewCommand(console.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
		cmd.SetArgs(strings.Split(args, "\n"))
		if err := cmd.ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// files serves /NAME with bytes that its name makes, so many as the query says.
func files(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/f") {
			http.NotFound(w, r)
			return
		}
		if r.Header.Get("Authorization") == "" && strings.HasPrefix(r.URL.Path, "/fsecret") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(content(r.URL.Path)))
	}))
	t.Cleanup(s.Close)
	return s
}

const fileSize = 1 << 20

func content(name string) []byte {
	b := make([]byte, fileSize)
	seed := sha256.Sum256([]byte(name))
	_, _ = rand.NewChaCha8(seed).Read(b) // it never fails
	return b
}

// hang is how long a daemon may take before a test gives it up: far beyond what it takes on a
// machine that has much else to do.
const hang = 2 * time.Minute

// client calls a daemon.
type client struct {
	t    *testing.T
	http *http.Client
	url  string
}

// ask makes a call without a secret, and gives its result, or its error's message.
func (c client) ask(method string, params ...any) (result any, failed string) {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := c.http.Post(c.url, "application/json", bytes.NewReader(text))
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	defer r.Body.Close() //nolint:errcheck // it is only read
	var answer struct {
		Result any
		Error  struct{ Message string }
	}
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		c.t.Fatal(err)
	}
	return answer.Result, answer.Error.Message
}

func (c client) must(method string, params ...any) any {
	c.t.Helper()
	result, failed := c.ask(method, params...)
	if failed != "" {
		c.t.Fatalf("%s(%v): %s", method, params, failed)
	}
	return result
}

func (c client) status(gid string) map[string]any {
	c.t.Helper()
	return c.must("aria2.tellStatus", gid).(map[string]any)
}

// until waits for a job's state.
func (c client) until(gid string, want ...string) map[string]any {
	c.t.Helper()
	var s map[string]any
	for end := time.Now().Add(hang); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if s = c.status(gid); slices.Contains(want, s["status"].(string)) {
			return s
		}
	}
	c.t.Fatalf("%s does not become %v: %v", gid, want, s)
	return nil
}

func connect(t *testing.T, port string) client {
	t.Helper()
	c := client{t, &http.Client{}, "http://127.0.0.1:" + port + "/jsonrpc"}
	for end := time.Now().Add(hang); time.Now().Before(end) && !t.Failed(); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = conn.Close()
			return c
		}
	}
	t.Fatal("nobody listens")
	return c
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// begin runs a daemon in this process until the test's end, or until the stop it gives is
// called.
func begin(t *testing.T, dir string, more ...string) (c client, stop func()) {
	t.Helper()
	port := freePort(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cmd := NewCommand(console.IO{Out: io.Discard, Err: io.Discard})
	cmd.SetArgs(append([]string{"--rpc-listen", "127.0.0.1:" + port, "--dir", dir, "--session", filepath.Join(dir, ".session"), "--allow-local"}, more...))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := cmd.ExecuteContext(ctx); err != nil {
			t.Errorf("the daemon ends with %v", err)
		}
	}()
	stop = func() {
		cancel(engine.ErrInterrupted)
		<-ended
	}
	t.Cleanup(stop)
	return connect(t, port), stop
}

func checkFile(t *testing.T, path, name string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content(name)) {
		t.Errorf("%s is not what the server has: %v", path, err)
	}
}

func TestDaemonDownloads(t *testing.T) {
	s, dir := files(t), t.TempDir()
	c, stop := begin(t, dir)
	first := c.must("aria2.addUri", []string{s.URL + "/f1"}).(string)
	same := c.must("aria2.addUri", []string{s.URL + "/f1"}, map[string]any{"max-download-limit": "300K"}).(string)
	mirror := c.must("aria2.addUri", []string{s.URL + "/none", s.URL + "/f2"}, map[string]any{"out": "sub/two", "dir": filepath.Join(dir, "below")}).(string)
	missing := c.must("aria2.addUri", []string{s.URL + "/none"}).(string)
	wrong := c.must("aria2.addUri", []string{s.URL + "/f3"}, map[string]any{"checksum": "sha-1=0123456789012345678901234567890123456789"}).(string)
	right := fmt.Sprintf("sha-256=%x", sha256.Sum256(content("/f4")))
	good := c.must("aria2.addUri", []string{s.URL + "/f4"}, map[string]any{"checksum": right}).(string)
	secret := c.must("aria2.addUri", []string{s.URL + "/fsecret"}, map[string]any{"header": []string{"Authorization: Basic YTpi"}}).(string)
	locked := c.must("aria2.addUri", []string{s.URL + "/fsecret"}, map[string]any{"out": "locked"}).(string)

	checkFile(t, c.until(first, "complete")["files"].([]any)[0].(map[string]any)["path"].(string), "/f1")
	c.until(mirror, "complete")
	checkFile(t, filepath.Join(dir, "below", "sub", "two"), "/f2")
	if st := c.until(missing, "error"); st["errorCode"] != "3" {
		t.Errorf("a file that is not there: %v", st)
	}
	if st := c.until(wrong, "error"); st["errorCode"] != "32" {
		t.Errorf("a wrong checksum: %v", st)
	}
	c.until(good, "complete")
	c.until(secret, "complete")
	if st := c.until(locked, "error"); st["errorCode"] != "24" {
		t.Errorf("a file that needs a password: %v", st)
	}

	c.until(same, "active")
	if failed := func() string { _, f := c.ask("aria2.pause", same); return f }(); failed == "" {
		if st := c.until(same, "paused"); st["connections"] != "0" {
			t.Error(st)
		}
		c.must("aria2.changeOption", same, map[string]any{"max-download-limit": "0"})
		c.must("aria2.unpause", same)
	}
	path := c.until(same, "complete")["files"].([]any)[0].(map[string]any)["path"].(string)
	if path != filepath.Join(dir, "f1.1") {
		t.Errorf("the second file is called %s", path)
	}
	checkFile(t, path, "/f1")
	if _, failed := c.ask("aria2.addUri", []string{s.URL + "/f9"}, map[string]any{"dir": "/tmp"}); failed == "" {
		t.Error("a file is saved elsewhere")
	}
	c.must("aria2.addUri", []string{s.URL + "/f9"}, map[string]any{"pause": "true", "gid": "00000000000000a9"})
	stop()

	c, _ = begin(t, dir)
	if st := c.status("00000000000000a9"); st["status"] != "paused" {
		t.Errorf("the queue is lost: %v", st)
	}
	c.must("aria2.unpause", "00000000000000a9")
	c.until("00000000000000a9", "complete")
	checkFile(t, filepath.Join(dir, "f9"), "/f9")
}

// TestResumeBesideCompleteFile: a job that has a name of its own beside a complete file of the
// same URL keeps it when it is paused.
func TestResumeBesideCompleteFile(t *testing.T) {
	s, dir := files(t), t.TempDir()
	c, _ := begin(t, dir)
	c.until(c.must("aria2.addUri", []string{s.URL + "/f1"}).(string), "complete")
	second := c.must("aria2.addUri", []string{s.URL + "/f1"}, map[string]any{"max-download-limit": "300K"}).(string)
	for c.until(second, "active")["completedLength"] == "0" {
		time.Sleep(10 * time.Millisecond)
	}
	c.must("aria2.pause", second)
	c.must("aria2.changeOption", second, map[string]any{"max-download-limit": "0"})
	c.must("aria2.unpause", second)
	if st := c.until(second, "complete", "error"); st["status"] != "complete" {
		t.Fatal(st)
	}
	checkFile(t, filepath.Join(dir, "f1.1"), "/f1")
}

// TestCompleteFileIsNotFetchedAgain: the process was killed when the file had its name, and
// the session did not know yet.
func TestCompleteFileIsNotFetchedAgain(t *testing.T) {
	s, dir := files(t), t.TempDir()
	name := filepath.Join(dir, "f1")
	quoted, err := json.Marshal(name)
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"job":{"gid":"00000000000000a1","state":"active","uris":["%s/f1"],"begun":true,"path":%s},"at":-1}`+"\n", s.URL, quoted)
	for _, err := range []error{os.WriteFile(name, content("/f1"), 0o600), os.WriteFile(filepath.Join(dir, ".session"), []byte(line), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c, stop := begin(t, dir)
	st := c.until("00000000000000a1", "complete", "error")
	stop()
	if st["status"] != "complete" || st["files"].([]any)[0].(map[string]any)["path"] != name {
		t.Error(st)
	}
	if entries, err := filepath.Glob(filepath.Join(dir, "f*")); err != nil || len(entries) != 1 {
		t.Errorf("%v: %v", err, entries)
	}
	checkFile(t, name, "/f1")
}

func TestLocalURLsNeedPermission(t *testing.T) {
	for uri, ok := range map[string]bool{
		"http://127.0.0.1/": false, "http://localhost/": false, "http://a.localhost/": false, "http://[::1]/": false, "http://0.0.0.0/": false,
		"http://169.254.169.254/latest/meta-data": false, "http://[fe80::1]/": false, "http://[::ffff:169.254.1.1]/": false,
		"http://192.168.1.1/": true, "https://example.org/": true,
	} {
		if err := (urlRule{}).Check(uri); (err == nil) != ok {
			t.Errorf("%s: %v", uri, err)
		}
		if err := (urlRule{local: true}).Check(uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestListenNeedsSecretForOthers(t *testing.T) {
	for at, ok := range map[string]bool{"127.0.0.1:0": true, "[::1]:0": true, "localhost:0": true, "0.0.0.0:0": false, ":0": false, "[::]:0": false, "x": false} {
		l, _, err := listen(at, false)
		if err == nil {
			_ = l.Close()
		}
		if (err == nil) != ok && !strings.Contains(at, "::1") {
			t.Errorf("%s: %v", at, err)
		}
	}
	l, own, err := listen("0.0.0.0:0", true)
	if err != nil || own {
		t.Fatal(own, err)
	}
	_ = l.Close()
}

// TestSocketIsForUser: a Unix socket needs no secret, since only its user may connect. On
// Windows the directory's access control list decides.
func TestSocketIsForUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "mlget") // whose path is short: a socket's has 108 bytes, or fewer
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is below the temporary directory
	path := filepath.Join(dir, "s")
	l, _, err := listen("unix:"+path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was sent
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v: others may connect: %v", err, info)
	}
	if _, _, err := listen("unix:"+path, false); err == nil {
		t.Error("two daemons have one socket")
	}
}

// TestKilledDaemonLosesNothing kills a daemon at random moments. Every job ends with the right
// bytes, and none is there twice under another name.
func TestKilledDaemonLosesNothing(t *testing.T) {
	kills, jobs := 8, 20
	s, dir := files(t), t.TempDir()
	port := freePort(t)
	r := rand.New(rand.NewPCG(1, 2))
	spawn := func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asDaemon+"="+strings.Join([]string{"--rpc-listen", "127.0.0.1:" + port, "--dir", dir + "/out", "--session", dir + "/session", "--allow-local", "--max-overall-download-limit", "6M", "--quiet"}, "\n"))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	cmd := spawn()
	c := connect(t, port)
	gids := make([]string, jobs)
	for i := range gids {
		gids[i] = c.must("aria2.addUri", []string{fmt.Sprintf("%s/f%02d", s.URL, i)}).(string)
	}
	for range kills {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		kill(cmd)
		cmd = spawn()
		c = connect(t, port)
	}
	for i, gid := range gids {
		if st := c.until(gid, "complete", "error"); st["status"] != "complete" {
			t.Errorf("job %d: %v", i, st)
		}
	}
	kill(cmd)
	entries, err := os.ReadDir(dir + "/out")
	if err != nil || len(entries) != jobs {
		t.Errorf("%v: %d files of %d jobs: %v", err, len(entries), jobs, entries)
	}
	for i := range gids {
		checkFile(t, fmt.Sprintf("%s/out/f%02d", dir, i), fmt.Sprintf("/f%02d", i))
	}
}

// TestDaemonWaitsForALink: without a link the daemon answers, its jobs wait for one, and it ends
// in order. Links are named by a flag of its own, or of each download.
func TestDaemonWaitsForALink(t *testing.T) {
	for _, args := range [][]string{{"--", "--links", "nosuch0"}, {"--links", "nosuch0"}, {"-l", "nosuch0", "--link", "nosuch0,role=backup", "-4", "--", "--tries", "2"}} {
		c, stop := begin(t, t.TempDir(), args...)
		gid := c.must("aria2.addUri", []string{"http://192.0.2.1/x"}).(string)
		if st := c.must("aria2.tellStatus", gid).(map[string]any); st["status"] != "active" && st["status"] != "waiting" {
			t.Errorf("%v: %v", args, st)
		}
		stop()
	}
}

func TestDaemonRefusesWrongLinks(t *testing.T) {
	for _, args := range [][]string{{"--links", " ,"}, {"--link", "wlan0,colour=red"}, {"--require-all-links", "--links", "nosuch0"}} {
		cmd := NewCommand(console.IO{Out: io.Discard, Err: io.Discard})
		cmd.SetArgs(append([]string{"--rpc-listen", "127.0.0.1:0", "--session", filepath.Join(t.TempDir(), "s")}, args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		if err := cmd.ExecuteContext(ctx); err == nil {
			t.Errorf("%v is taken", args)
		}
		cancel()
	}
}
