package main_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
)

// sentOver is how many bytes the kernel counts as sent over a link of the lab's
// client.
func (l *lab) sentOver(t *testing.T, name string) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	out, err := l.Command(ctx, "cat", "/proc/self/net/dev").Output()
	must(t, err)
	m := regexp.MustCompile(`(?m)^\s*` + name + `:\s*(?:\d+\s+){8}(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("no %s in\n%s", name, out)
	}
	n, err := strconv.ParseInt(string(m[1]), 10, 64)
	must(t, err)
	return n
}

// auto runs mlget without --links.
func (l *lab) auto(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, "mlget", append([]string{"-o", "out.bin"}, args...)...)
	c.Dir = l.dir
	return finish(t, c, c.Cmd)
}

// TestAutoSpendsNothing: without --links not a byte crosses a link whose data may
// cost money, one notice says so, and each of the ways that it names is one.
func TestAutoSpendsNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		links string
		says  string // "" is nothing about costs
	}{
		{"nothing said", nil, "wlan0", `^mlget: rmnet0 \(cellular\) is left out, as data over it may cost money: --links all uses it too, --link rmnet0,metered=no says that it is free$`},
		{"all", []string{"--links", "all"}, "rmnet0 wlan0", ""},
		{"by kind", []string{"--links", "wifi,cellular"}, "rmnet0 wlan0", ""},
		{"by name", []string{"--links", "auto,rmnet0"}, "rmnet0 wlan0", ""},
		{"free", []string{"--link", "rmnet0,metered=no"}, "rmnet0 wlan0", ""},
		{"free by kind", []string{"--link", "cellular,metered=no"}, "rmnet0 wlan0", ""},
		{"Wi-Fi costs", []string{"--link", "rmnet0,metered=no", "--link", "wlan0,metered=yes"}, "rmnet0", `wlan0 \(metered=yes\) is left out`},
		{"described", []string{"--link", "cellular,cap=1M"}, "wlan0", `rmnet0 \(cellular\) is left out`},
		{"both cost", []string{"--link", "wlan0,metered=yes"}, "wlan0", `rmnet0 \(cellular\) is left out`},
	} {
		t.Run(c.name, func(t *testing.T) {
			// One of its own: what closed connections of another run send would count.
			l := startLab(t, linklab.Config{Size: 4e6}, fastWiFi, fastLTE)
			before := map[string]int64{"wlan0": l.sentOver(t, "wlan0"), "rmnet0": l.sentOver(t, "rmnet0")}
			r := l.auto(t, append([]string{"--report", "r.json", l.URL()}, c.args...)...)
			r.want(t, 0)
			l.wantBody(t)
			for name, sent := range before {
				if used := strings.Contains(c.links, name); l.sentOver(t, name) > sent != used {
					t.Errorf("%s sent %d bytes", name, l.sentOver(t, name)-sent)
				}
			}
			if got := len(readReport(t, filepath.Join(l.dir, "r.json")).Links); got != len(strings.Fields(c.links)) {
				t.Errorf("%d links in the report", got)
			}
			if c.says != "" {
				r.want(t, 0, c.says)
			}
			if strings.Contains(r.stderr, "has attributes") {
				t.Errorf("two notices:\n%s", r.stderr)
			}
			if n := strings.Count(r.stderr, "cost money"); n != map[bool]int{false: 0, true: 1}[c.says != ""] {
				t.Errorf("%d notices:\n%s", n, r.stderr)
			}
		})
	}
}

// TestAutoStopsWithoutWiFi: when Wi-Fi goes in the middle, a download that nobody
// gave cellular to stops with its state saved, and says how to go on.
func TestAutoStopsWithoutWiFi(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 8e6}, "wlan0,down=16,rtt=10", fastLTE)
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	c := l.Command(ctx, "mlget", "-o", "out.bin", "--tries", "2", "--connect-timeout", "1s", "--timeout", "2s", "--report", "r.json", l.URL())
	c.Dir = l.dir
	before := l.sentOver(t, "rmnet0")
	ended := make(chan result, 1)
	go func() { ended <- finish(t, c, c.Cmd) }()
	waitUntil(t, "bytes that are kept", func() bool {
		b, err := os.ReadFile(filepath.Join(l.dir, "out.bin.part.json"))
		return err == nil && regexp.MustCompile(`"done":\s*\[\s*[[{]`).Match(b)
	})
	l.ip(t, "link set wlan0 down")
	r := <-ended
	r.want(t, 4, `^mlget: hint: --links all goes on where this one stopped over rmnet0 too, which may cost money$`)
	if n := l.sentOver(t, "rmnet0") - before; n != 0 {
		t.Errorf("%d bytes went out over rmnet0", n)
	}
	// As it says. Cellular is the only link now, so that auto takes it as well.
	r = l.auto(t, "--report", "again.json", l.URL())
	r.want(t, 0, `^mlget: rmnet0 \(cellular\) is the only link: data over it may cost money$`)
	again := readReport(t, filepath.Join(l.dir, "again.json"))
	if again.ResumedBytes == 0 || len(again.Links) != 1 || again.Links[0].Name != "rmnet0" {
		t.Errorf("%+v", again)
	}
	l.wantBody(t)
}
