package android_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/android/androidtest"
)

// needMark skips where this process is not allowed to be netd.
func needMark(t *testing.T) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 1); err != nil {
		t.Skipf("no socket can be marked: %v", err)
	}
}

func serve(t *testing.T, n *androidtest.Netd) (fwmarkd, resolver string) {
	t.Helper()
	dir := t.TempDir()
	fwmarkd, resolver = filepath.Join(dir, "fwmarkd"), filepath.Join(dir, "dnsproxyd")
	if err := n.Serve(fwmarkd, resolver); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return fwmarkd, resolver
}

// What Android allows and what not, whatever its age.
func TestSelect(t *testing.T) {
	needMark(t)
	const wifi, cellular, calls = 100, 101, 102
	for name, c := range map[string]struct {
		has     android.Permission // this process
		secured bool
		sees    []uint32 // has been let into cellular by its user
		netID   uint32
		errno   int
		mark    uint32
	}{
		"root, Wi-Fi":            {android.PermissionSystem, false, nil, wifi, 0, 0xf0064},
		"root, cellular":         {android.PermissionSystem, false, nil, cellular, 0, 0xf0065},
		"root, under a VPN":      {android.PermissionSystem, true, nil, cellular, 0, 0xf0065},
		"adb shell, under a VPN": {android.PermissionNetwork, true, nil, cellular, 1, 0},
		"adb shell, cellular":    {android.PermissionNetwork, false, nil, cellular, 0, 0x50065},
		"adb shell, for calls":   {android.PermissionNetwork, false, nil, calls, 13, 0},
		"an app, Wi-Fi":          {android.PermissionNone, false, nil, wifi, 0, 0x10064},
		"an app, cellular":       {android.PermissionNone, false, nil, cellular, 13, 0},
		"an app that may":        {android.PermissionNone, false, []uint32{0}, cellular, 0, 0x10065},
		"an app, under a VPN":    {android.PermissionNone, true, nil, wifi, 1, 0},
		"a network that is gone": {android.PermissionSystem, false, nil, 103, 64, 0},
	} {
		for _, sdk := range []int{26, 28, 35} {
			n := &androidtest.Netd{
				SDK: sdk, Users: map[uint32]android.Permission{0: c.has},
				Networks: []androidtest.Network{
					{NetID: wifi},
					{NetID: cellular, Permission: android.PermissionNetwork, Users: c.sees},
					{NetID: calls, Permission: android.PermissionSystem},
				},
			}
			if c.secured {
				n.Secured = []uint32{0}
			}
			fwmarkd, _ := serve(t, n)
			for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
				fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					t.Fatal(err)
				}
				mark, err := android.NewFwmarkd(fwmarkd).Select(t.Context(), fd, c.netID)
				got, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK)
				_ = unix.Close(fd)
				if err2 != nil || mark != c.mark || uint32(got) != c.mark {
					t.Errorf("%s, API %d: told mark %#x, socket has %#x, want %#x (%v)", name, sdk, mark, got, c.mark, err2)
				}
				var refused *android.Refusal
				if errors.As(err, &refused) != (c.errno != 0) || refused != nil && refused.Errno != c.errno || c.errno == 0 && err != nil {
					t.Errorf("%s, API %d: %v, want errno %d", name, sdk, err, c.errno)
				}
			}
			_ = n.Close()
		}
	}
}

// TestFwmarkdLeaksNothing: netd closes every descriptor that it is sent, however
// many sockets ask, since a request of a length that it does not take is sent
// without one, and once only.
func TestFwmarkdLeaksNothing(t *testing.T) {
	needMark(t)
	for _, sdk := range []int{26, 27, 28, 29, 35} {
		n := &androidtest.Netd{SDK: sdk, Networks: []androidtest.Network{{NetID: 100}}}
		fwmarkd, _ := serve(t, n)
		client := android.NewFwmarkd(fwmarkd)
		const probes = 5
		for range probes {
			if _, err := client.Probe(t.Context(), 100); err != nil {
				t.Fatalf("API %d: %v", sdk, err)
			}
		}
		if n.Leaked() != 0 {
			t.Errorf("API %d: netd has lost %d descriptors", sdk, n.Leaked())
		}
		without := 0
		for _, a := range n.Asked() {
			if a.Errno != 0 {
				without++
			}
		}
		if most := map[bool]int{true: 2, false: 1}[sdk < 28]; without != most || len(n.Asked()) != most+probes {
			t.Errorf("API %d: %d of %d requests failed, want %d", sdk, without, len(n.Asked()), most)
		}
	}
}

// TestNetdLeaks: the imitation of netd loses a descriptor as Android's does.
func TestNetdLeaks(t *testing.T) {
	n := &androidtest.Netd{SDK: 26, Networks: []androidtest.Network{{NetID: 100}}}
	path := filepath.Join(t.TempDir(), "fwmarkd")
	if err := n.Serve(path, ""); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.(*net.UnixConn).WriteMsgUnix(make([]byte, 16), unix.UnixRights(0), nil)
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 4))
	}
	_ = c.Close()
	if err != nil || n.Leaked() != 1 || n.Close() == nil {
		t.Errorf("%d lost, %v", n.Leaked(), err)
	}
}

// TestResolverSocket: whether the resolver is there is found out by connecting.
func TestResolverSocket(t *testing.T) {
	_, path := serve(t, &androidtest.Netd{SDK: 35})
	if err := android.CheckResolver(t.Context(), path); err != nil {
		t.Error(err)
	}
	if err := android.CheckResolver(t.Context(), path+"-none"); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, android.ErrResolver) {
		t.Error(err)
	}
}

// Nothing but a socket of the Internet is taken, and not without one.
func TestSelectOtherSocket(t *testing.T) {
	fwmarkd, _ := serve(t, &androidtest.Netd{SDK: 35, Networks: []androidtest.Network{{NetID: 100}}})
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var refused *android.Refusal
	if _, err := android.NewFwmarkd(fwmarkd).Select(t.Context(), fd, 100); !errors.As(err, &refused) || refused.Errno != int(unix.EAFNOSUPPORT) {
		t.Error(err)
	}
	// What the client must never send: the fake refuses it, so its silence
	// elsewhere says something.
	for _, request := range [][]byte{make([]byte, 16), make([]byte, 12), make([]byte, 15)} {
		binary.NativeEndian.PutUint32(request, 2)
		c, err := net.Dial("unix", fwmarkd)
		if err != nil {
			t.Fatal(err)
		}
		want := -int32(unix.EBADF)
		if len(request) != 16 {
			want = -int32(unix.EBADMSG)
		}
		var reply [4]byte
		_, err = c.Write(request)
		if err == nil {
			_, err = io.ReadFull(c, reply[:])
		}
		_ = c.Close()
		if got := int32(binary.NativeEndian.Uint32(reply[:])); err != nil || got != want {
			t.Errorf("%d bytes without a socket: %d, %v, want %d", len(request), got, err, want)
		}
	}
}

// A netd that is not there or makes no sense is no success.
func TestSelectWithoutSense(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	if _, err := android.NewFwmarkd(none).Probe(t.Context(), 100); !errors.Is(err, android.ErrUnreachable) {
		t.Errorf("no netd: %v", err)
	}
	for name, reply := range map[string][]byte{
		"nothing": {}, "half a word": {0, 0}, "a positive number": {1, 0, 0, 1},
		"yes, but no mark": {0, 0, 0, 0},
	} {
		path := filepath.Join(t.TempDir(), "fwmarkd")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for first := true; ; first = false {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 64))
				if first { // the request without a socket
					_, _ = c.Write(binary.NativeEndian.AppendUint32(nil, ^uint32(unix.EBADF)+1))
				} else {
					_, _ = c.Write(reply)
				}
				_ = c.Close()
			}
		}()
		if mark, err := android.NewFwmarkd(path).Probe(t.Context(), 100); !errors.Is(err, android.ErrReply) {
			t.Errorf("%s: mark %#x, %v", name, mark, err)
		}
		_ = l.Close()
		<-done
	}
	// One that hangs is not waited for.
	path := filepath.Join(t.TempDir(), "fwmarkd")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nobody waits for it
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := android.NewFwmarkd(path).Probe(ctx, 100); !errors.Is(err, android.ErrUnreachable) {
		t.Errorf("silence: %v", err)
	}
	// Nor is it once nobody wants to know any more.
	ctx, cancel = context.WithCancel(t.Context())
	stop := time.AfterFunc(50*time.Millisecond, cancel)
	defer stop.Stop()
	if _, err := android.NewFwmarkd(path).Probe(ctx, 100); !errors.Is(err, context.Canceled) { // and no time-out
		t.Errorf("canceled: %v", err)
	}
}

// The net package's resolver takes Android's for a name server.
func TestResolver(t *testing.T) {
	needMark(t)
	server := nameServer(t)
	n := &androidtest.Netd{SDK: 35, Networks: []androidtest.Network{{NetID: 100, DNS: server}}}
	_, path := serve(t, n)
	ask := func(path string) *net.Resolver {
		return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return android.DialResolver(ctx, path, 100)
		}}
	}
	addrs, err := ask(path).LookupHost(t.Context(), "here.mlget-test.")
	if err != nil || strings.Join(addrs, " ") != "192.0.2.7 2001:db8::7" {
		t.Errorf("%v, %v", addrs, err)
	}
	long := strings.Repeat(strings.Repeat("a", 63)+".", 3) + strings.Repeat("b", 60) + "."
	for _, name := range []string{"gone.mlget-test.", long} {
		_, err = ask(path).LookupHost(t.Context(), name)
		var dns *net.DNSError
		if !errors.As(err, &dns) || !dns.IsNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	asked := n.Asked()
	if len(asked) == 0 || !asked[0].Resolver || asked[0].NetID != 100 {
		t.Errorf("asked %+v", asked)
	}
	_, old := serve(t, &androidtest.Netd{SDK: 28})
	if _, err := ask(old).LookupHost(t.Context(), "here.mlget-test."); err == nil || !strings.Contains(err.Error(), "takes no DNS queries") {
		t.Errorf("Android 9: %v", err)
	}
	// Both generations know the older way.
	for _, sdk := range []int{28, 35} {
		_, path := serve(t, &androidtest.Netd{SDK: sdk, Networks: []androidtest.Network{{NetID: 100, DNS: server}}})
		for family, want := range map[int]string{0: "[192.0.2.7 2001:db8::7]", 4: "[192.0.2.7]", 6: "[2001:db8::7]"} {
			if addrs, err := android.Lookup(t.Context(), path, 100, "here.mlget-test", family); err != nil || fmt.Sprint(addrs) != want {
				t.Errorf("API %d, family %d: %v, %v", sdk, family, addrs, err)
			}
		}
		_, err = android.Lookup(t.Context(), path, 100, "gone.mlget-test", 0)
		var dns *net.DNSError
		if !errors.As(err, &dns) || !dns.IsNotFound {
			t.Errorf("API %d: %v", sdk, err)
		}
	}
}

// nameServer knows one name.
func nameServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			head := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: m.Questions[0].Type, Class: dnsmessage.ClassINET}
			switch {
			case head.Name.String() != "here.mlget-test.":
				m.RCode = dnsmessage.RCodeNameError
			case head.Type == dnsmessage.TypeA:
				m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 7}}}}
			case head.Type == dnsmessage.TypeAAAA:
				m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: [16]byte{0x20, 1, 0xd, 0xb8, 15: 7}}}}
			}
			if reply, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return conn.LocalAddr().String()
}
