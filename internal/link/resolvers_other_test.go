//go:build !windows

package link

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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

func FuzzParseLease(f *testing.F) {
	f.Add([]byte("DNS=10.0.0.1 [fe80::1%2]:53#name\nDNS=9.9.9.9"))
	f.Fuzz(func(t *testing.T, b []byte) { checkServers(t, parseLease(b)) })
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
			map[string]string{resolvConf: "nameserver 10.0.0.1\nnameserver 10.0.0.2"},
			false, false,
			"[10.0.0.1, 10.0.0.2 (resolv.conf)]", "",
		},
		"lease goes first": {
			map[string]string{resolvConf: "nameserver 10.0.0.1", lease: "DNS=10.1.0.1"},
			false, false,
			"[10.1.0.1 (systemd-networkd) 10.0.0.1 (resolv.conf)]", "",
		},
		"another link's lease": {
			map[string]string{resolvConf: "nameserver 10.0.0.1", "run/systemd/netif/leases/4": "DNS=10.1.0.1"},
			false, false,
			"[10.0.0.1 (resolv.conf)]", "",
		},
		"resolved, stub, servers behind it": {
			map[string]string{resolvConf: "nameserver 127.0.0.53", "run/systemd/resolve/resolv.conf": "nameserver 10.0.0.1"},
			true, false,
			"[systemd-resolved 10.0.0.1 (resolv.conf)]", "",
		},
		"dnsmasq of NetworkManager": {
			map[string]string{resolvConf: "nameserver 127.0.1.1", "run/NetworkManager/no-stub-resolv.conf": "nameserver 10.0.0.7"},
			false, false,
			"[10.0.0.7 (resolv.conf)]", "",
		},
		"stub alone": {
			map[string]string{resolvConf: "nameserver 127.0.0.53"},
			false, false,
			"[through the system's resolver, which may use another link]", "which may use another link",
		},
		"resolved and its stub": {
			map[string]string{resolvConf: "nameserver 127.0.0.53"},
			true, false,
			"[systemd-resolved through the system's resolver, which may use another link]", "where systemd-resolved knows no server",
		},
		"stub, but a lease": {
			map[string]string{resolvConf: "nameserver 127.0.0.53", lease: "DNS=10.1.0.1"},
			false, false,
			"[10.1.0.1 (systemd-networkd)]", "",
		},
		"another machine's server, over lo": {
			map[string]string{resolvConf: "nameserver 10.0.0.1", "run/systemd/netif/leases/3": "DNS=10.1.0.1"}, true, true, "[]", "",
		},
		"stub over lo": {
			map[string]string{resolvConf: "nameserver 127.0.0.53"},
			false, true,
			"[127.0.0.53 (resolv.conf)]", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tree(t, c.files)
			if c.varlink {
				serveVarlink(t, s.path("run/systemd/resolve/io.systemd.Resolve"), "")
			}
			i := Info{Name: "wlan0", Virtual: classify("wlan0", "", c.loopback), Resolvers: s.resolvers(3, c.loopback)}
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
