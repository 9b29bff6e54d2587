package link

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseResolvConf(t *testing.T) {
	for text, want := range map[string]string{
		"": "[]",
		"# comment\nsearch lan\nnameserver 10.0.0.1\n nameserver\t10.0.0.2 # x\n": "[10.0.0.1:53 10.0.0.2:53]",
		"nameserver 10.0.0.1\nnameserver 10.0.0.1\n":                              "[10.0.0.1:53]",
		"nameserver\nnameserver example.org\nnameservers 10.0.0.1\n":              "[]",
		"nameserver fe80::1%eth0\r\nnameserver 0.0.0.0\nnameserver ::1":           "[[fe80::1%eth0]:53 [::1]:53]",
		"nameserver 10.0.0.1\n" + strings.Repeat("x", 100<<10):                    "[10.0.0.1:53]",
		strings.Repeat("nameserver 10.0.0.1\nnameserver 10.0.0.2\n", 1000):        "[10.0.0.1:53 10.0.0.2:53]",
	} {
		if got := fmt.Sprint(parseResolvConf([]byte(text))); got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func checkServers(t *testing.T, servers []netip.AddrPort) {
	t.Helper()
	if len(servers) > maxServers {
		t.Fatalf("%d servers", len(servers))
	}
	for _, s := range servers {
		if !s.IsValid() || s.Port() == 0 || s.Addr().IsUnspecified() {
			t.Fatalf("server %v", s)
		}
	}
}

func FuzzParseResolvConf(f *testing.F) {
	f.Add([]byte("nameserver 10.0.0.1\nnameserver fe80::1%eth0\n"))
	f.Add([]byte("options ndots:5\nnameserver [::1]:53\n"))
	f.Fuzz(func(t *testing.T, b []byte) { checkServers(t, parseResolvConf(b)) })
}

// serveVarlink answers every call on a socket with reply, or with nothing.
// What it was asked can be read from the channel.
func serveVarlink(t *testing.T, path, reply string) <-chan string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	asked, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			b := make([]byte, 4096)
			n, err := c.Read(b)
			if err == nil && n > 0 {
				asked <- string(b[:n])
				if reply == "" {
					_, _ = c.Read(b) // until the caller has had enough
				}
				// In two pieces: a reply need not come in one.
				_, _ = c.Write([]byte(reply[:len(reply)/2]))
				_, _ = c.Write([]byte(reply[len(reply)/2:]))
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return asked
}
