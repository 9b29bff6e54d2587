package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestOrder(t *testing.T) {
	dual := []string{"10.0.0.2/24", "2001:db8:1::2/64", "fe80::2/64"}
	for name, c := range map[string]struct {
		addrs    []string // of the link
		default6 bool
		family   Family
		host     string
		want     string
	}{
		"interleaved, IPv6 first":   {dual, true, FamilyAny, "192.0.2.1 192.0.2.2 2001:db8::1 2001:db8::2 2001:db8::3", "[2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2 2001:db8::3]"},
		"no default route for IPv6": {dual, false, FamilyAny, "2001:db8::1 192.0.2.1", "[192.0.2.1 2001:db8::1]"},
		"unique local address":      {[]string{"10.0.0.2/24", "fd00::2/64"}, true, FamilyAny, "2001:db8::1 192.0.2.1", "[192.0.2.1 2001:db8::1]"},
		"link has no IPv6":          {[]string{"10.0.0.2/24", "fe80::2/64"}, false, FamilyAny, "2001:db8::1 192.0.2.1", "[192.0.2.1]"},
		"link has no IPv4":          {[]string{"2001:db8:1::2/64"}, true, FamilyAny, "192.0.2.1", "[]"},
		"IPv4 asked for":            {dual, true, FamilyIPv4, "2001:db8::1 192.0.2.1", "[192.0.2.1]"},
		"IPv6 asked for":            {dual, true, FamilyIPv6, "2001:db8::1 192.0.2.1", "[2001:db8::1]"},
		"link-local host":           {[]string{"10.0.0.2/24"}, false, FamilyAny, "fe80::9", "[fe80::9%wlan0]"},
		"IPv4 in IPv6 form":         {dual, false, FamilyIPv4, "::ffff:192.0.2.1", "[192.0.2.1]"},
		"nothing known of the link": {nil, false, FamilyAny, "2001:db8::1 192.0.2.1", "[192.0.2.1 2001:db8::1]"},
	} {
		i := Info{Name: "wlan0", Bind: BindDevice, Default6: c.default6}
		for _, a := range c.addrs {
			i.Addrs = append(i.Addrs, netip.MustParsePrefix(a))
		}
		var host []netip.Addr
		for a := range strings.FieldsSeq(c.host) {
			host = append(host, netip.MustParseAddr(a))
		}
		if got := fmt.Sprint(New(i, Spec{}, Options{}).order(host, c.family)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	many := make([]netip.Addr, 1000)
	for k := range many {
		many[k] = netip.AddrFrom4([4]byte{10, 0, byte(k >> 8), byte(k)})
	}
	if got := New(Info{}, Spec{}, Options{}).order(many, FamilyAny); len(got) != maxAddrs {
		t.Errorf("%d addresses are tried", len(got))
	}
	bound := Info{Bind: BindAddress, Source4: netip.MustParseAddr("10.0.0.2"), Addrs: []netip.Prefix{netip.MustParsePrefix("2001:db8::2/64")}}
	pair := []netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.1")}
	if got := fmt.Sprint(New(bound, Spec{}, Options{}).order(pair, FamilyAny)); got != "[192.0.2.1]" {
		t.Errorf("bound by an IPv4 address: %s", got)
	}
}

func TestFamilyWith(t *testing.T) {
	for _, c := range []struct {
		family  Family
		network string
		want    Family
		ok      bool
	}{
		{FamilyAny, "tcp", FamilyAny, true},
		{FamilyAny, "tcp4", FamilyIPv4, true},
		{FamilyIPv6, "tcp", FamilyIPv6, true},
		{FamilyIPv6, "tcp6", FamilyIPv6, true},
		{FamilyIPv6, "tcp4", FamilyIPv6, false},
		{FamilyAny, "udp", 0, false},
	} {
		if got, ok := c.family.with(c.network); ok != c.ok || ok && got != c.want {
			t.Errorf("%d with %s = %d, %v", c.family, c.network, got, ok)
		}
	}
}

// serve accepts connections and writes text to each until the test ends.
func serve(t *testing.T, listener net.Listener, text string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
}

// closing closes what a test has open; net.Conn's own test may have done so.
func closing(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// answer connects and reads what serve says.
func answer(ctx context.Context, l *Link, addr string) (string, error) {
	c, err := l.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	b, err := io.ReadAll(c)
	return string(b), err
}

// loopback is this machine's loopback link as List finds it.
func loopback(t *testing.T, opts Options) *Link {
	t.Helper()
	infos, err := List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range infos {
		if i.Virtual == VirtualLoopback {
			if !i.Usable() {
				t.Skipf("the loopback link cannot be used: %+v", i.Problems)
			}
			return New(i, Spec{}, opts)
		}
	}
	t.Fatal("there is no loopback link")
	return nil
}

func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	listener, err := net.Listen(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func TestDialLoopback(t *testing.T) {
	listener := listen(t, "tcp4", "127.0.0.1:0")
	serve(t, listener, "hello")
	l := loopback(t, Options{ConnectTimeout: 20 * time.Second})
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost"} { // no server listens on ::1
		if got, err := answer(t.Context(), l, net.JoinHostPort(host, port)); err != nil || got != "hello" {
			t.Errorf("%s: %q, %v", host, got, err)
		}
	}
}

func TestDialErrors(t *testing.T) {
	listener := listen(t, "tcp4", "127.0.0.1:0")
	addr := listener.Addr().String()
	_ = listener.Close() // no server listens now
	l := loopback(t, Options{ConnectTimeout: 20 * time.Second})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	wlan := New(Info{Name: "wlan0", Bind: BindDevice}, Spec{}, Options{})
	for name, c := range map[string]struct {
		ctx  context.Context
		link *Link
		addr string
		is   error
	}{
		"refused":         {t.Context(), l, addr, nil},
		"no port":         {t.Context(), l, "127.0.0.1", nil},
		"strange port":    {t.Context(), l, "127.0.0.1:99999", nil},
		"cancelled":       {cancelled, l, addr, context.Canceled},
		"no such device":  {t.Context(), New(Info{Name: "mlget-none", Index: 1 << 20, Bind: l.info.Bind, Virtual: VirtualLoopback}, Spec{}, Options{}), addr, ErrBind},
		"cannot be bound": {t.Context(), New(Info{Name: "lo", Virtual: VirtualLoopback}, Spec{}, Options{}), addr, ErrBind},
		"no source":       {t.Context(), New(Info{Name: "lo", Bind: BindAddress, Virtual: VirtualLoopback}, Spec{}, Options{}), addr, nil},
		"this machine":    {t.Context(), wlan, addr, ErrHere},
		"0.0.0.0":         {t.Context(), wlan, "0.0.0.0:80", ErrHere},
		"::":              {t.Context(), wlan, "[::]:80", ErrHere},
		"0.0.0.0, mapped": {t.Context(), wlan, "[::ffff:0.0.0.0]:80", ErrHere},
		"link-local":      {t.Context(), New(Info{Name: "wlan0", Bind: BindDevice}, Spec{}, Options{Global: true}), "169.254.169.254:80", ErrLocal},
		"own address":     {t.Context(), New(Info{Name: "wlan0", Bind: BindDevice, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}, Spec{}, Options{Global: true}), "192.0.2.7:80", ErrHere},
		"link-local, v6":  {t.Context(), New(Info{Name: "wlan0", Bind: BindDevice}, Spec{}, Options{Global: true}), "[fe80::1]:80", ErrLocal},
	} {
		conn, err := c.link.DialContext(c.ctx, "tcp", c.addr)
		if err == nil {
			_ = conn.Close()
			t.Errorf("%s: connected", name)
			continue
		}
		if !strings.HasPrefix(err.Error(), "link "+c.link.Name()+": ") || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
	}
	if _, err := l.DialContext(t.Context(), "udp", addr); err == nil {
		t.Error("udp: no error")
	}
}
