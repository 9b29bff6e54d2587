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

func TestParseLease(t *testing.T) {
	for text, want := range map[string]string{
		"# private\nADDRESS=10.0.0.2\nDNS=10.0.0.1 10.0.0.3\nNTP=10.0.0.9\n":       "[10.0.0.1:53 10.0.0.3:53]",
		"DNS=9.9.9.9#dns.quad9.net [2620:fe::fe]:853#dns.quad9.net fe80::1%eth0\n": "[9.9.9.9:53 [2620:fe::fe]:853 [fe80::1%eth0]:53]",
		"DNS=\nDNS=x y\nMDNS=10.0.0.1\n":                                           "[]",
	} {
		if got := fmt.Sprint(parseLease([]byte(text))); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
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

func FuzzParseLease(f *testing.F) {
	f.Add([]byte("DNS=10.0.0.1 [fe80::1%2]:53#name\nDNS=9.9.9.9"))
	f.Fuzz(func(t *testing.T, b []byte) { checkServers(t, parseLease(b)) })
}

// tree writes files under a new root.
func tree(t *testing.T, files map[string]string) System {
	t.Helper()
	root := shortDir(t) // a socket may go in here
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return System{Root: root}
}

func TestResolvers(t *testing.T) {
	const (
		resolvConf = "etc/resolv.conf"
		lease      = "run/systemd/netif/leases/3"
	)
	for name, c := range map[string]struct {
		files    map[string]string
		varlink  bool
		loopback bool
		want     string
		problem  string
	}{
		"nothing": {nil, false, false, "[]", "no name server is known"},
		"resolv.conf": {
			map[string]string{resolvConf: "nameserver 10.0.0.1\nnameserver 10.0.0.2"}, false, false,
			"[10.0.0.1, 10.0.0.2 (resolv.conf)]", "",
		},
		"lease goes first": {
			map[string]string{resolvConf: "nameserver 10.0.0.1", lease: "DNS=10.1.0.1"}, false, false,
			"[10.1.0.1 (systemd-networkd) 10.0.0.1 (resolv.conf)]", "",
		},
		"another link's lease": {
			map[string]string{resolvConf: "nameserver 10.0.0.1", "run/systemd/netif/leases/4": "DNS=10.1.0.1"}, false, false,
			"[10.0.0.1 (resolv.conf)]", "",
		},
		"resolved, stub, servers behind it": {
			map[string]string{resolvConf: "nameserver 127.0.0.53", "run/systemd/resolve/resolv.conf": "nameserver 10.0.0.1"}, true, false,
			"[systemd-resolved 10.0.0.1 (resolv.conf)]", "",
		},
		"dnsmasq of NetworkManager": {
			map[string]string{resolvConf: "nameserver 127.0.1.1", "run/NetworkManager/no-stub-resolv.conf": "nameserver 10.0.0.7"}, false, false,
			"[10.0.0.7 (resolv.conf)]", "",
		},
		"stub alone": {
			map[string]string{resolvConf: "nameserver 127.0.0.53"}, false, false,
			"[through the system's resolver, which may use another link]", "which may use another link",
		},
		"stub, but a lease": {
			map[string]string{resolvConf: "nameserver 127.0.0.53", lease: "DNS=10.1.0.1"}, false, false,
			"[10.1.0.1 (systemd-networkd)]", "",
		},
		"stub over lo": {
			map[string]string{resolvConf: "nameserver 127.0.0.53"}, false, true,
			"[127.0.0.53 (resolv.conf)]", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tree(t, c.files)
			if c.varlink {
				serveVarlink(t, s.path("run/systemd/resolve/io.systemd.Resolve"), "")
			}
			i := Info{Name: "wlan0", Resolvers: s.resolvers(3, c.loopback)}
			if got := fmt.Sprint(i.Resolvers); got != c.want {
				t.Errorf("resolvers %s, want %s", got, c.want)
			}
			i.checkResolvers()
			got := ""
			if len(i.Problems) > 0 {
				got = i.Problems[0].What
			}
			if c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
				t.Errorf("problem %q, want %q", got, c.problem)
			}
			if i.worst(Fatal) != nil || i.worst(Warning) != nil {
				t.Errorf("more than a note: %v", i.Problems)
			}
		})
	}
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
					c.Read(b) // until the caller has had enough
				}
				// In two pieces: a reply need not come in one.
				c.Write([]byte(reply[:len(reply)/2]))
				c.Write([]byte(reply[len(reply)/2:]))
			}
			c.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return asked
}
