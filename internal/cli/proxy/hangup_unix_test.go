//go:build unix

package proxy

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHangupRereadsFiles: at SIGHUP the files of flags and users hold as they are then; one with
// a mistake changes nothing.
func TestHangupRereadsFiles(t *testing.T) {
	s := serve(t, 1000)
	dir := t.TempDir()
	flags, users := filepath.Join(dir, "proxy.conf"), filepath.Join(dir, "users")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(users, "ann:one\n")
	write(flags, "affinity = none\nproxy-auth = "+users+"\nverbose\n")
	addr, out, _ := begin(t, "--config", flags)
	hangUp := func(answer string) {
		before := strings.Count(out.String(), answer)
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for range 3000 {
			if strings.Count(out.String(), answer) > before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("it never said %q:\n%s", answer, out)
	}
	status := func(user *url.Userinfo) int {
		tr := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) {
			return &url.URL{Scheme: "http", Host: addr, User: user}, nil
		}}
		defer tr.CloseIdleConnections()
		code, _, err := fetch(t, &http.Client{Transport: tr}, s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return code
	}
	ann, bob := url.UserPassword("ann", "one"), url.UserPassword("bob", "two")
	if a, b := status(ann), status(bob); a != 200 || b != 407 {
		t.Errorf("at first: ann %d, bob %d", a, b)
	}
	write(users, "bob:two\n")
	hangUp("hold now")
	if a, b := status(ann), status(bob); a != 407 || b != 200 {
		t.Errorf("after SIGHUP: ann %d, bob %d", a, b)
	}
	write(flags, "affinity = some\n")
	hangUp("stay as they were")
	if a, b := status(ann), status(bob); a != 407 || b != 200 {
		t.Errorf("after a mistake: ann %d, bob %d", a, b)
	}
	write(flags, "affinity = host\n")
	hangUp("hold now")
	if code := status(nil); code != 200 {
		t.Errorf("without users: %d", code)
	}
}
