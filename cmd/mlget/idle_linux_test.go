package main_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
)

// switchesOf is how often the threads that a process has now have given up their processor by
// themselves, as the kernel counts: each time somebody had to wake them again.
func switchesOf(t *testing.T, pid int) (sum int) {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(names) == 0 {
		t.Fatalf("process %d: %v, no threads", pid, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has just ended
		}
		_, rest, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// wantIdle demands that a process that has nothing to do comes to rest: that there are a few
// seconds in which it is woken less than once a second.
func wantIdle(t *testing.T, pid int) {
	t.Helper()
	const seconds = 3
	n := 0
	for end := time.Now().Add(hang); time.Now().Before(end); {
		before := switchesOf(t, pid)
		time.Sleep(seconds * time.Second)
		if n = switchesOf(t, pid) - before; n < seconds {
			return
		}
	}
	t.Errorf("%d switches in %d s", n, seconds)
}

// TestIdleProxyIsNotWoken: a proxy whose clients have gone does nothing, and serves the next one.
func TestIdleProxyIsNotWoken(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 1e6}, fastWiFi, fastLTE)
	var said strings.Builder
	const addr = "127.0.0.1:8119"
	c := l.Command(context.Background(), "mlget", "proxy", "--grace", "0s", "--listen", addr, "-l", strings.Join(l.Links(), ","))
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Signal(syscall.SIGINT)
		if err := c.Wait(); err != nil {
			t.Errorf("proxy: %v\n%s", err, said.String())
		}
	}()
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		conn, err := dialInClient(l, addr)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for range 2 {
		client := through(l, addr)
		resp, err := client.Get(l.URL())
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != 1e6 {
			t.Fatalf("%d bytes, %v", n, err)
		}
		_ = resp.Body.Close()
		client.CloseIdleConnections()
		wantIdle(t, c.Process.Pid)
	}
}

// TestIdleDaemonIsNotWoken: a daemon without jobs does nothing.
func TestIdleDaemonIsNotWoken(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 1e6}, fastWiFi)
	c := l.Command(context.Background(), "mlget", "daemon", "--rpc-listen", "unix:"+filepath.Join(l.dir, "s"), "--dir", l.dir, "--session", filepath.Join(l.dir, "queue"), "--", "--links", l.Links()[0])
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Signal(syscall.SIGINT)
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}()
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(l.dir, "s")); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not listen")
		}
	}
	wantIdle(t, c.Process.Pid)
}

// TestPausedReaderWakesNothing: while the reader of a download's standard output takes nothing, the
// bars included, the program comes to rest; then the download goes on.
func TestPausedReaderWakesNothing(t *testing.T) {
	t.Parallel()
	const size = 40e6
	l := startLab(t, linklab.Config{Size: size}, fastWiFi)
	c := l.Command(context.Background(), "mlget", "-o", "-", "--progress", "bar", "-l", l.Links()[0], l.URL())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var said strings.Builder
	c.Stdout, c.Stderr = w, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if _, err := io.CopyN(io.Discard, r, 1); err != nil {
		t.Errorf("the first byte: %v", err)
	}
	wantIdle(t, c.Process.Pid)
	if n, err := io.Copy(io.Discard, r); err != nil || n != size-1 {
		t.Errorf("%d bytes more, %v", n, err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said.String())
	}
}
