package linklab

import (
	"io"
	"net"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// defaults counts the default routes over a device of the client.
func defaults(t *testing.T, l *Lab, link string) (n int) {
	t.Helper()
	err := l.InClient(func() error {
		dev, err := netlink.LinkByName(link)
		if err != nil {
			return err
		}
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			routes, err := netlink.RouteList(dev, family)
			if err != nil {
				return err
			}
			for _, r := range routes {
				if r.Gw != nil {
					n++
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestDropAndRestoreRoutes(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000})
	had, others := defaults(t, l, "wlan0"), defaults(t, l, "rmnet0")
	if had == 0 {
		t.Fatal("no default routes to begin with")
	}
	for range 2 { // again is no error
		if err := l.DropRoutes("wlan0"); err != nil {
			t.Fatal(err)
		}
	}
	if n, o := defaults(t, l, "wlan0"), defaults(t, l, "rmnet0"); n != 0 || o != others {
		t.Errorf("%d routes over wlan0, %d over rmnet0", n, o)
	}
	for range 2 {
		if err := l.RestoreRoutes("wlan0"); err != nil {
			t.Fatal(err)
		}
	}
	if n := defaults(t, l, "wlan0"); n != had {
		t.Errorf("%d of %d routes are back", n, had)
	}
	if err := (dialer{lab: l, device: "wlan0"}).reach(t, "192.0.2.1:80"); err != nil {
		t.Error(err)
	}
	if l.DropRoutes("eth7") == nil || l.RestoreRoutes("eth7") == nil {
		t.Error("there is no eth7")
	}
}

func TestListenIsTheServers(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000})
	ln, err := l.Listen(8080)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() //nolint:errcheck // nothing was written
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = io.WriteString(c, "hello") // the reader tells
			_ = c.Close()
		}
	}()
	c, err := dialer{lab: l, device: "rmnet0"}.DialContext(t.Context(), "tcp", "192.0.2.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was written
	if text, err := io.ReadAll(c); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	if _, ok := c.LocalAddr().(*net.TCPAddr); !ok || l.Certificate().Leaf != nil || len(l.Certificate().Certificate) != 0 {
		t.Error("a certificate without TLS")
	}
}
