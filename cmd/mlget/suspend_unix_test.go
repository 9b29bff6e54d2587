//go:build unix

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestSuspended: a process that was stopped for longer than any of its limits has not
// been waiting. It goes on where it was; and when the servers have given up its
// connections meanwhile, on new ones.
func TestSuspended(t *testing.T) {
	for _, c := range []struct {
		name   string
		dead   bool // the connections are, afterwards
		ranges string
		many   bool
		two    bool // HTTP/2
		mute   bool // not even a header comes before it is stopped
		tries  string
	}{
		{name: "stopped", tries: "1"},
		{name: "stopped, one stream", ranges: "off", tries: "1"},
		{name: "stopped, many", many: true, tries: "1"},
		{name: "stopped, no answer yet", mute: true, tries: "1"},
		{name: "stopped, HTTP/2", two: true, tries: "1"},
		{name: "stopped, HTTP/2, no answer yet", two: true, mute: true, tries: "1"},
		{name: "stopped, HTTP/2, many, no answer yet", two: true, mute: true, many: true, tries: "1"},
		{name: "dead", dead: true, tries: "2"},
		{name: "dead, HTTP/2", dead: true, two: true, tries: "2"},
		{name: "dead, HTTP/2, no answer yet", dead: true, two: true, mute: true, tries: "2"},
		{name: "dead, one stream", dead: true, ranges: "off", tries: "2"},
		{name: "dead, many", dead: true, many: true, tries: "2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it does nothing but wait
			// All limits are longer than a busy machine needs for what is asked of it, and
			// it is stopped for longer than that.
			const limit, stopped = "6s", 7 * time.Second
			s, dir := newSite(t), t.TempDir()
			s.set("hang", "1000000")
			if c.mute {
				s.set("hang", "0")
			}
			s.set("ranges", c.ranges)
			const size = 3000000
			names := []string{"a.bin"}
			if c.many {
				names = append(names, "b.bin", "c.bin", "d.bin")
			}
			args := []string{"--timeout", limit, "--connect-timeout", limit, "--tries", c.tries}
			server := s.clear
			if c.two {
				ca, err := s.writeCA(dir)
				check(t, err)
				server, args = s.secure, append(args, "--cacert", ca)
			}
			for _, name := range names {
				args = append(args, fmt.Sprintf("%s/hang/%d/%s", server.URL, size, name))
			}
			p := prepareMlget(t, dir, append([]string{"--progress", "json"}, args...)...)
			check(t, p.Start())
			for deadline := time.Now().Add(hang); len(s.seen()) == 0; { // it is under way
				if time.Now().After(deadline) {
					t.Fatal("nothing was asked for")
				}
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond) // some bytes have come, or none: either will do
			check(t, p.Process.Signal(syscall.SIGSTOP))
			time.Sleep(stopped)
			if c.dead {
				server.CloseClientConnections()
			}
			s.release()
			check(t, p.Process.Signal(syscall.SIGCONT))
			p.end(t).want(t, 0)
			for _, name := range names {
				wantFile(t, filepath.Join(dir, name), size, "")
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*.part*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// TestPartMeddledWith: whoever replaces the .part meanwhile keeps what is theirs, and
// it does not come to be under the final name.
func TestPartMeddledWith(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	s.set("hang", "1500000")
	url := s.clear.URL + "/hang/3000000/f.bin"
	part := filepath.Join(dir, "f.bin.part")
	p := startMlget(t, dir, "--timeout", "20s", url)
	waitForFile(t, part)
	check(t, os.WriteFile(filepath.Join(dir, "theirs"), []byte("theirs"), 0o600))
	check(t, os.Rename(filepath.Join(dir, "theirs"), part))
	s.release()
	p.end(t).want(t, 3, "^mlget: .*f.bin.part.*(removed or replaced)")
	if text, err := os.ReadFile(part); err != nil || string(text) != "theirs" {
		t.Errorf("%q, %v", text, err)
	}
	mlget(t, dir, url).want(t, 0)
	wantFile(t, filepath.Join(dir, "f.bin.1"), 3e6, "")
}
