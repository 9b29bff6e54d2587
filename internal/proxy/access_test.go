package proxy

import (
	"errors"
	"net/netip"
	"testing"
)

func TestClients(t *testing.T) {
	allow := []netip.Prefix{netip.MustParsePrefix("192.168.1.0/24"), netip.MustParsePrefix("fe80::/10")}
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true,
		"192.168.1.9": true, "::ffff:192.168.1.9": true, "192.168.2.9": false, "fe80::1%eth0": true, "2001:db8::1": false,
	} {
		if got := admits(netip.MustParseAddr(addr), allow); got != want {
			t.Errorf("%s: admitted %v, want %v", addr, got, want)
		}
	}
}

func TestDestinations(t *testing.T) {
	const here, other = "127.0.0.1", "192.168.1.9"
	for _, c := range []struct {
		client, from, to string
		allowed          bool
	}{
		{here, "10.0.0.2:999", "192.0.2.1:443", true},
		{other, "10.0.0.2:999", "192.0.2.1:443", true},
		{here, "127.0.0.1:999", "127.0.0.1:443", true},
		{other, "127.0.0.1:999", "127.0.0.1:443", false},
		{other, "[::1]:999", "[::1]:443", false},
		{other, "127.0.0.1:999", "[::ffff:127.0.0.1]:443", false},
		{other, "10.0.0.2:999", "10.0.0.2:22", false},        // this machine by its own address
		{here, "127.0.0.1:999", "127.0.0.1:8118", false},     // the proxy
		{here, "10.0.0.2:999", "10.0.0.2:8118", false},       // the proxy
		{here, "10.0.0.2:999", "10.0.0.3:8118", true},        // another machine's
		{other, "10.0.0.2:999", "169.254.169.254:80", false}, // a cloud's metadata
		{here, "10.0.0.2:999", "169.254.169.254:80", true},
		{other, "[fe80::2%eth0]:999", "[fe80::1%eth0]:80", false},
		{other, "10.0.0.2:999", "224.0.0.1:80", false},
	} {
		err := checkDestination(netip.MustParseAddr(c.client), netip.MustParseAddrPort(c.from), netip.MustParseAddrPort(c.to), netip.MustParseAddrPort("0.0.0.0:8118"))
		if (err == nil) != c.allowed || err != nil && !errors.Is(err, errForbidden) {
			t.Errorf("%s to %s: %v, want allowed: %v", c.client, c.to, err, c.allowed)
		}
	}
}
