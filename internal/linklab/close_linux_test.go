package linklab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestNamespaceSettings(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000, RPFilter: 1})
	for path, want := range map[string]string{
		"/proc/sys/net/ipv4/conf/wlan0/rp_filter":       "1\n",
		"/proc/sys/net/ipv4/conf/all/rp_filter":         "1\n",
		"/proc/sys/net/ipv4/tcp_no_metrics_save":        "1\n",
		"/proc/sys/net/ipv6/conf/wlan0/addr_gen_mode":   "1\n",
		"/sys/class/net/rmnet0/mtu":                     "1500\n",
		"/sys/class/net/rmnet0/tx_queue_len":            "20000\n",
		"/proc/sys/net/ipv4/conf/rmnet0/disable_policy": "0\n",
	} {
		out, err := l.Command(t.Context(), "cat", path).Output()
		if err != nil || string(out) != want {
			t.Errorf("%s: %q, %v", path, out, err)
		}
	}
	out, err := l.Command(t.Context(), "ls", "/sys/class/net").Output()
	if err != nil || strings.Join(strings.Fields(string(out)), " ") != "lo rmnet0 wlan0" {
		t.Errorf("devices: %q, %v", out, err)
	}
}

func TestCommands(t *testing.T) {
	t.Setenv("http_proxy", "http://proxy.invalid")
	t.Setenv("LINKLAB_OLD", "x")
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000, TLS: true})
	out, err := l.Command(t.Context(), "env").Output()
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, want := range []string{
		"LINKLAB_URL=http://192.0.2.1/body.bin", "LINKLAB_URL6=http://[2001:db8::1]/body.bin",
		"LINKLAB_URL_TLS=https://192.0.2.1/body.bin", "LINKLAB_CA=" + l.CA(), "LINKLAB_SIZE=1000",
		"LINKLAB_SHA256=" + l.SHA256(), "LINKLAB_LINKS=wlan0,rmnet0",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, kv := range env {
		if strings.HasPrefix(kv, "http_proxy=") || strings.HasPrefix(kv, "LINKLAB_OLD=") {
			t.Errorf("there is %s", kv)
		}
	}
	var exit *exec.ExitError
	if err := l.Command(t.Context(), "sh", "-c", "exit 7").Run(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("exit 7: %v", err)
	}
	both, err := l.Command(t.Context(), "sh", "-c", "echo a; echo b >&2").CombinedOutput()
	if err != nil || string(both) != "a\nb\n" {
		t.Errorf("output %q, %v", both, err)
	}
	if err := l.Command(t.Context(), "/nonexistent").Run(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing command: %v", err)
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	SkipIfUnsupported(t)
	fds := func() int {
		e, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(e)
	}
	var before int
	for n := range 3 {
		l, err := Start(Config{Scenario: parse(t, twoLinks), Size: 1000, TLS: true})
		if err != nil {
			t.Fatal(err)
		}
		// A command, and a child that it leaves behind.
		stays := l.Command(t.Context(), "sh", "-c", "sleep 100 & echo $!; exec sleep 100")
		out, err := stays.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := stays.Start(); err != nil {
			t.Fatal(err)
		}
		var child int
		if _, err := fmt.Fscan(out, &child); err != nil {
			t.Fatal(err)
		}
		dir := l.dir
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := stays.Wait(); err == nil {
			t.Error("the command was not ended")
		}
		gone(t, child)
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
		if err := l.Command(t.Context(), "true").Run(); !errors.Is(err, errClosed) {
			t.Errorf("a command in a closed lab: %v", err)
		}
		if err := l.InClient(func() error { return nil }); !errors.Is(err, errClosed) {
			t.Errorf("a function in a closed lab: %v", err)
		}
		if n == 0 { // the process's first waiting opens the poller, for good
			before = fds()
		}
	}
	if after := fds(); after > before {
		t.Errorf("%d descriptors are left", after-before)
	}
}

func TestStartErrors(t *testing.T) {
	one := parse(t, twoLinks)
	for _, tc := range []struct {
		c    Config
		want string
	}{
		{Config{}, "at least one link"},
		{Config{Scenario: one, Size: -1}, "must not be negative"},
		{Config{Scenario: one, Size: 1, Dir: "/"}, "not both"},
		{Config{Scenario: one, Dir: "/etc/passwd"}, "not a directory"},
		{Config{Scenario: one, Dir: "/nonexistent"}, "no such file"},
		{Config{Scenario: one, RPFilter: 3}, "rp_filter"},
		{Config{Scenario: one, Size: 1 << 50}, "no room for 1125899906842624 bytes"},
	} {
		if l, err := Start(tc.c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v", tc.c, err)
			if l != nil {
				_ = l.Close()
			}
		}
	}
}
