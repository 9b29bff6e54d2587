package linklab

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// asMainVar turns this test program into the command.
const asMainVar = "MLGET_TEST_AS_LINKLAB"

// asScratchVar turns it into a process that has a directory.
const asScratchVar = "MLGET_TEST_HOLDS_SCRATCH"

func TestMain(m *testing.M) {
	if os.Getenv(asScratchVar) != "" {
		holdScratch()
	}
	if os.Getenv(asMainVar) != "" {
		os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

func parse(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startLab(t *testing.T, c Config) *Lab {
	t.Helper()
	SkipIfUnsupported(t)
	l, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// dialer dials from the client's namespace.
type dialer struct {
	lab    *Lab
	source string // address, may be empty
	device string // may be empty
}

func (d dialer) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	nd := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		if d.device == "" {
			return nil
		}
		var bind error
		err := c.Control(func(fd uintptr) { bind = unix.BindToDevice(int(fd), d.device) })
		return errors.Join(err, bind)
	}}
	if d.source != "" {
		nd.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(d.source), 0))
	}
	err = d.lab.InClient(func() error {
		var err error
		conn, err = nd.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// soon is how long a connection that must not come about is waited for.
const soon = 400 * time.Millisecond

// try says whether a connection to the server comes about in that time.
func (d dialer) try(t *testing.T, address string, wait time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// reach is the same of one that has to come about, however busy the machine is, and
// however long the kernel takes until it receives by a new address.
func (d dialer) reach(t *testing.T, address string) (err error) {
	t.Helper()
	for wait := soon; wait < 30*time.Second; wait *= 2 {
		if err = d.try(t, address, wait); err == nil {
			return nil
		}
	}
	return err
}

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	hash string
	n    int64
}

// get fetches the URL.
func get(t *testing.T, d dialer, protocols *http.Protocols, url string, header http.Header) answer {
	t.Helper()
	tr := &http.Transport{DialContext: d.DialContext, Protocols: protocols}
	defer tr.CloseIdleConnections()
	if ca := d.lab.CA(); ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			t.Fatal(err)
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(text)
		tr.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	h := sha256.New()
	n, err := io.Copy(h, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	return answer{resp, hex.EncodeToString(h.Sum(nil)), n}
}

func protocols(set ...func(*http.Protocols, bool)) *http.Protocols {
	p := &http.Protocols{}
	for _, f := range set {
		f(p, true)
	}
	return p
}

const twoLinks = "link wlan0,down=200,rtt=4\nlink rmnet0,down=100,rtt=10"

func TestServers(t *testing.T) {
	for _, kind := range []ServerKind{ServerBuiltin, ServerNginx} {
		t.Run([]string{"builtin", "nginx"}[kind], func(t *testing.T) {
			if _, err := exec.LookPath("nginx"); kind == ServerNginx && err != nil {
				t.Skip("nginx is not installed")
			}
			l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 2e6, TLS: true, Server: kind})
			tls6 := "https://[" + serverIPv6 + "]/body.bin"
			h1, h2 := protocols((*http.Protocols).SetHTTP1), protocols((*http.Protocols).SetHTTP2)
			h2c := protocols((*http.Protocols).SetUnencryptedHTTP2)
			for _, tc := range []struct {
				url       string
				protocols *http.Protocols
				major     int
				device    string
			}{
				{l.URL(), h1, 1, "wlan0"},
				{l.URL6(), h1, 1, "rmnet0"},
				{l.URL(), h2c, 2, "rmnet0"},
				{l.URLTLS(), h1, 1, "wlan0"},
				{l.URLTLS(), h2, 2, "rmnet0"},
				{tls6, h2, 2, "wlan0"},
			} {
				if kind == ServerNginx && tc.protocols == h2c {
					continue // it takes either in clear, not both
				}
				a := get(t, dialer{lab: l, device: tc.device}, tc.protocols, tc.url, http.Header{})
				if a.hash != l.SHA256() || a.n != l.Size() || a.ProtoMajor != tc.major || a.StatusCode != 200 {
					t.Errorf("%s over %s: %d bytes by %s, hash %s", tc.url, tc.device, a.n, a.Proto, a.hash)
				}
			}
			testRanges(t, l, h1)
			key := get(t, dialer{lab: l}, h1, strings.Replace(l.URL(), "body.bin", "key.pem", 1), http.Header{})
			if key.StatusCode != 404 {
				t.Errorf("the server's key: %s", key.Status)
			}
			for _, s := range l.Stats() {
				// A late RST of a socket that was bound to a device may come by
				// the wrong link, as on a phone: no look at SourceDrops.
				if s.Down.Bytes < 4e6 || s.Up.Packets < 100 {
					t.Errorf("counted %+v", s)
				}
			}
		})
	}
}

func testRanges(t *testing.T, l *Lab, p *http.Protocols) {
	t.Helper()
	whole := get(t, dialer{lab: l}, p, l.URL(), http.Header{})
	etag := whole.Header.Get("Etag")
	if len(etag) < 8 || etag[0] != '"' || whole.Header.Get("Last-Modified") == "" || whole.Header.Get("Accept-Ranges") != "bytes" {
		t.Errorf("headers %v", whole.Header)
	}
	for _, tc := range []struct {
		ifRange, rng, contentRange string
		status                     int
		n                          int64
	}{
		{"", "bytes=10-19", "bytes 10-19/2000000", 206, 10},
		{etag, "bytes=1999990-", "bytes 1999990-1999999/2000000", 206, 10},
		{`"other"`, "bytes=10-19", "", 200, 2e6},
		{"", "bytes=2000000-", "bytes */2000000", 416, -1},
	} {
		h := http.Header{"Range": {tc.rng}}
		if tc.ifRange != "" {
			h.Set("If-Range", tc.ifRange)
		}
		a := get(t, dialer{lab: l}, p, l.URL(), h)
		if a.StatusCode != tc.status || a.Header.Get("Content-Range") != tc.contentRange || tc.n >= 0 && a.n != tc.n {
			t.Errorf("%+v: %s, %d bytes, %v", tc, a.Status, a.n, a.Header)
		}
	}
}

func TestServesDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b.txt"), []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Dir: dir})
	h1 := protocols((*http.Protocols).SetHTTP1)
	a := get(t, dialer{lab: l}, h1, l.URL()+"a%20b.txt", http.Header{})
	if a.StatusCode != 200 || a.n != 5 || a.Header.Get("Etag") == "" || l.SHA256() != "" || l.Size() != 0 {
		t.Errorf("%s, %d bytes, %v", a.Status, a.n, a.Header)
	}
	for path, want := range map[string]int{"none": 404, "../../etc/passwd": 404, "": 200} {
		if a := get(t, dialer{lab: l}, h1, l.URL()+path, http.Header{}); a.StatusCode != want {
			t.Errorf("%q: %s", path, a.Status)
		}
	}
}

func TestSourceAddresses(t *testing.T) {
	for _, rules := range []bool{false, true} {
		t.Run(fmt.Sprintf("rules=%v", rules), func(t *testing.T) {
			l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000, SourceRules: rules})
			for _, tc := range []struct{ source, address string }{
				{"10.2.0.2", "192.0.2.1:80"},
				{"2001:db8:2::2", "[2001:db8::1]:80"},
			} {
				d := dialer{lab: l, source: tc.source}
				before := l.Stats()[0].Up.SourceDrops
				err := d.try(t, tc.address, soon)
				if rules && err != nil {
					err = d.reach(t, tc.address)
				}
				// A busy machine may send nothing in that time, or see to it later.
				for wait := soon; !rules && err != nil && l.Stats()[0].Up.SourceDrops == before && wait < 30*time.Second; wait *= 2 {
					err = d.try(t, tc.address, wait)
				}
				if rules != (err == nil) {
					t.Errorf("from %s: %v", tc.source, err)
				}
			}
			s := l.Stats()
			if !rules && (s[0].Up.SourceDrops < 2 || s[1].Up.Packets != 0) {
				t.Errorf("without rules: %+v", s)
			}
			if rules && (s[0].Up.SourceDrops != 0 || s[0].Up.Packets != 0 || s[1].Up.Packets < 2) {
				t.Errorf("with rules: %+v", s)
			}
		})
	}
}

func TestLossIsCounted(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, "link wlan0,down=100,up=100,loss=30"), Size: 1000, Seed: 3})
	var conn net.PacketConn
	err := l.InClient(func() (err error) { conn, err = net.ListenUDP("udp4", nil); return })
	if err != nil {
		t.Fatal(err)
	}
	const sent = 3000
	to := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(serverIPv4 + ":9"))
	s := l.Stats()[0].Up
	for n := int64(1); n <= sent; n++ {
		if _, err := conn.WriteTo([]byte("x"), to); err != nil {
			t.Fatal(err)
		}
		if n%50 != 0 {
			continue
		}
		// No queue on the way is ever full, however slowly they are emptied.
		for until := time.Now().Add(time.Minute); s.Packets+s.LossDrops < n && time.Now().Before(until); time.Sleep(time.Millisecond) {
			s = l.Stats()[0].Up
		}
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Packets+s.LossDrops != sent || s.LossDrops < 750 || s.LossDrops > 1050 || s.QueueDrops+s.PortDrops+s.DownDrops != 0 {
		t.Errorf("of %d packets: %+v", sent, s)
	}
}

func TestLiveEventsReachTheLink(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000})
	d := dialer{lab: l, device: "wlan0"}
	event := func(text string) {
		t.Helper()
		if err := l.Event(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.reach(t, "192.0.2.1:80"); err != nil {
		t.Fatal(err)
	}
	if l.Elapsed() == 0 {
		t.Error("the first packet did not start the clock")
	}
	event("wlan0 down")
	if err := d.try(t, "192.0.2.1:80", soon); err == nil {
		t.Error("a link that is down carries")
	}
	if err := (dialer{lab: l, device: "rmnet0"}).reach(t, "192.0.2.1:80"); err != nil {
		t.Errorf("the other link: %v", err)
	}
	event("wlan0 up")
	if err := d.reach(t, "192.0.2.1:80"); err != nil {
		t.Errorf("the link is back: %v", err)
	}
	carrier := func() string {
		out, err := l.Command(t.Context(), "cat", "/sys/class/net/wlan0/carrier").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	event("wlan0 carrier off")
	if got := carrier(); got != "0\n" {
		t.Errorf("without carrier: %q", got)
	}
	event("wlan0 carrier on")
	if got := carrier(); got != "1\n" {
		t.Errorf("with carrier: %q", got)
	}
	for _, bad := range []string{"", "wlan0", "eth7 down", "wlan0 rate 0"} {
		if err := l.Event(bad); err == nil {
			t.Errorf("event %q was accepted", bad)
		}
	}
}

// TestDeviceThatVanishes: it comes back as another device, with other addresses.
func TestDeviceThatVanishes(t *testing.T) {
	for _, rules := range []bool{false, true} {
		l := startLab(t, Config{Scenario: parse(t, twoLinks+"\nat 0s rmnet0 gone"), Size: 1000, SourceRules: rules})
		look := func(device string) (index int, addrs string) {
			t.Helper()
			err := l.InClient(func() error {
				i, err := net.InterfaceByName(device)
				if err != nil {
					return err
				}
				index = i.Index
				list, err := i.Addrs()
				addrs = fmt.Sprint(list)
				return err
			})
			if err != nil {
				return 0, ""
			}
			return index, addrs
		}
		event := func(text string) {
			t.Helper()
			if err := l.Event(text); err != nil {
				t.Fatal(err)
			}
		}
		if index, _ := look("rmnet0"); index != 0 {
			t.Error("rmnet0 is there from the start")
		}
		d := dialer{lab: l, device: "wlan0"}
		first, _ := look("wlan0")
		if err := d.reach(t, "192.0.2.1:80"); err != nil {
			t.Fatal(err)
		}
		for n := 3; n < 6; n++ {
			event("wlan0 gone")
			event("wlan0 gone")
			event("wlan0 carrier on") // of what is not there
			if index, _ := look("wlan0"); index != 0 {
				t.Fatal("wlan0 is still there")
			}
			event("wlan0 back")
			event("wlan0 back")
			index, addrs := look("wlan0")
			if index == 0 || index == first || !strings.Contains(addrs, fmt.Sprintf("10.1.0.%d/24", n)) || strings.Contains(addrs, "10.1.0.2/") {
				t.Fatalf("wlan0 has index %d, before %d, and addresses %s", index, first, addrs)
			}
			first = index
			for _, to := range []string{"192.0.2.1:80", "[2001:db8::1]:80"} {
				if err := d.reach(t, to); err != nil {
					t.Errorf("after its return: %v", err)
				}
			}
		}
		event("wlan0 gone") // and closed without one
	}
}

// gone waits until a process is no more, or nobody's zombie.
func gone(t *testing.T, pid int) {
	t.Helper()
	for range 2000 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is left", pid)
}
