package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
)

// run runs one of the commands that steer a daemon, and gives what it prints.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	for _, cmd := range NewClientCommands(console.IO{Out: &out, Err: io.Discard}) {
		if cmd.Name() == args[0] {
			cmd.SetArgs(args[1:])
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			err := cmd.ExecuteContext(t.Context())
			return out.String(), err
		}
	}
	t.Fatalf("there is no command %s", args[0])
	return "", nil
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(t, args...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return out
}

// TestCommandsSteerTheDaemon: add, status, pause, resume and remove find the daemon by its own
// socket, without its address and its secret.
func TestCommandsSteerTheDaemon(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("wine has no UNIX sockets")
	}
	s, dir := files(t), shortDir(t)
	t.Setenv("XDG_STATE_HOME", dir)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, "status"); !errors.Is(err, exit.ErrNoDaemon) {
		t.Errorf("without a daemon: %v", err)
	}
	port := freePort(t)
	cmd := NewCommand(console.IO{Out: io.Discard, Err: io.Discard})
	cmd.SetArgs([]string{"--rpc-listen", "127.0.0.1:" + port, "--dir", filepath.Join(dir, "out"), "--allow-local", "--rpc-secret-file", secret})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if _, err := run(t, "status"); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	slow := strings.TrimSpace(mustRun(t, "add", "--limit-rate", "100K", "-o", "sub/slow.bin", s.URL+"/f1"))
	paused := strings.TrimSpace(mustRun(t, "add", "--paused", "-H", "X-Test: 1", s.URL+"/f2"))
	if len(slow) != 16 || len(paused) != 16 {
		t.Fatalf("add prints %q, %q", slow, paused)
	}
	var st status
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := json.Unmarshal([]byte(mustRun(t, "status", "--json", slow, paused)), &st); err != nil {
			t.Fatal(err)
		}
		if st.Jobs[0].CompletedLength > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(st)
		}
	}
	if st.Jobs[0].Status != "active" || st.Jobs[0].TotalLength != fileSize || st.Jobs[1].Status != "paused" || st.Stat.NumActive != 1 || st.Stat.NumWaiting != 1 {
		t.Errorf("%+v", st)
	}
	shown := mustRun(t, "status")
	for _, want := range []string{slow[:6] + " slow.bin", paused[:6] + " f2", "paused", "total", "1 active, 1 waiting, 0 stopped"} {
		if !strings.Contains(shown, want) {
			t.Errorf("status does not show %q:\n%s", want, shown)
		}
	}
	mustRun(t, "pause", slow)
	if text := mustRun(t, "status", slow[:8]); !strings.Contains(text, "paused") {
		t.Errorf("after pause: %s", text)
	}
	mustRun(t, "remove", slow[:8])
	if _, err := run(t, "pause", slow); err == nil || errors.Is(err, exit.ErrNoDaemon) {
		t.Errorf("pausing a download that is gone: %v", err)
	}
	mustRun(t, "resume", "--all")
	for deadline := time.Now().Add(time.Minute); !strings.Contains(mustRun(t, "status", paused), "complete"); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
	checkFile(t, filepath.Join(dir, "out", "f2"), "/f2")

	at := []string{"--rpc", "127.0.0.1:" + port}
	if _, err := run(t, append([]string{"status"}, at...)...); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("without the secret: %v", err)
	}
	mustRun(t, append([]string{"status", "--rpc-secret-file", secret}, at...)...)
	for _, args := range [][]string{{"add"}, {"pause"}, {"remove"}, {"resume", "--all", slow}, {"add", "-o", "x", s.URL + "/a", s.URL + "/b"}, {"add", "ftp://x/y"}} {
		if _, err := run(t, args...); !errors.As(err, new(exit.UsageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// shortDir is a folder whose path leaves room for that of a socket: 108 bytes in all.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestMetricsOfAllDownloads: one scrape has what all downloads received, and counts them.
func TestMetricsOfAllDownloads(t *testing.T) {
	s, dir := files(t), t.TempDir()
	scrape := "127.0.0.1:" + freePort(t)
	c, _ := begin(t, dir, "--metrics-listen", scrape)
	var gids []string
	for _, name := range []string{"/f1", "/f2", "/none"} {
		gids = append(gids, c.must("aria2.addUri", []string{s.URL + name}).(string))
	}
	for _, gid := range gids {
		c.until(gid, "complete", "error")
	}
	r, err := c.http.Get("http://" + scrape + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	received := 0.0
	for _, m := range regexp.MustCompile(`(?m)^mlget_(received|wasted)_bytes_total{.*} (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if m[1] == "wasted" {
			n = -n
		}
		received += n
	}
	if received != 2*fileSize {
		t.Errorf("%v bytes of %d were received:\n%s", received, 2*fileSize, text)
	}
	for _, want := range []string{`mlget_jobs{state="complete"} 2`, `mlget_jobs{state="error"} 1`, `mlget_jobs{state="active"} 0`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing:\n%s", want, text)
		}
	}
}
