package main_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
)

// startProxy starts mlget proxy over the lab's links, and returns its address and what ends it
// and gives its last words.
func startProxy(t *testing.T, l *lab, args ...string) (addr string, stop func() string) {
	t.Helper()
	addr, _, stop = startProxyOver(t, l, append([]string{"-l", strings.Join(l.Links(), ",")}, args...)...)
	return addr, stop
}

// startProxyOver is startProxy over the links that args name. hangUp has it read its files again,
// and waits until it says something more.
func startProxyOver(t *testing.T, l *lab, args ...string) (addr string, hangUp func(says string), stop func() string) {
	t.Helper()
	const address = "127.0.0.1:8118"
	said := new(lines)
	c := l.Command(context.Background(), "mlget", append([]string{"proxy", "-v", "--grace", "0s", "--listen", address}, args...)...)
	c.Stderr = said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceValue(func() string {
		_ = c.Signal(syscall.SIGINT)
		if err := c.Wait(); err != nil {
			t.Errorf("proxy: %v\n%s", err, said.String())
		}
		return said.String()
	})
	t.Cleanup(func() { ended() })
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		conn, err := dialInClient(l, address)
		if err == nil {
			_ = conn.Close()
			return address, func(says string) {
				t.Helper()
				before := strings.Count(said.String(), says)
				_ = c.Signal(syscall.SIGHUP)
				for end := time.Now().Add(hang); strings.Count(said.String(), says) == before; time.Sleep(20 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("it has not said %q:\n%s", says, said.String())
					}
				}
			}, ended
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// dialInClient connects from where the lab's client is.
func dialInClient(l *lab, addr string) (conn net.Conn, err error) {
	if inner := l.InClient(func() error { conn, err = net.Dial("tcp", addr); return nil }); inner != nil {
		return nil, inner
	}
	return conn, err
}

// through is a client of HTTP whose requests take the proxy.
func through(l *lab, addr string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:             func(*http.Request) (*url.URL, error) { return url.Parse("http://" + addr) },
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return dialInClient(l, addr) },
		DisableKeepAlives: true,
	}}
}

// TestProxyUsesBothLinks: transfers through the proxy come over both links, whole.
func TestProxyUsesBothLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 5e6}, fastWiFi, fastLTE)
	addr, stop := startProxy(t, l, "--affinity", "none", "--split", "0")
	client := through(l, addr)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			resp, err := client.Get(l.URL())
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close() //nolint:errcheck // it is read
			h := sha256.New()
			if _, err := io.Copy(h, resp.Body); err != nil || fmt.Sprintf("%x", h.Sum(nil)) != l.SHA256() {
				t.Errorf("not the body: %v", err)
			}
		})
	}
	wg.Wait()
	said := stop()
	for _, name := range l.Links() {
		if !strings.Contains(said, "link "+name+": ") || strings.Contains(said, "link "+name+": 0 connections") {
			t.Errorf("%s carried none of four transfers:\n%s", name, said)
		}
	}
}

// TestProxyEndsTunnelsOfASilentLink: a link over which nothing comes any more, and of which
// nobody says so, loses its tunnels by RST while the other one's go on; new connections work.
func TestProxyEndsTunnelsOfASilentLink(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 200e6}, slowWiFi, slowLTE)
	addr, _ := startProxy(t, l, "--placement", "round-robin", "--split", "0")
	client := through(l, addr)
	ends := make(chan error, 2)
	var first sync.WaitGroup
	for range 2 {
		first.Add(1)
		go func() {
			resp, err := client.Get(l.URL())
			if err != nil {
				first.Done()
				ends <- err
				return
			}
			defer resp.Body.Close() //nolint:errcheck // it is read
			_, err = io.CopyN(io.Discard, resp.Body, 500_000)
			first.Done()
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
			}
			ends <- err
		}()
		first.Wait() // one after the other, so that each has a link of its own
	}
	if err := l.Event("wlan0 down"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ends:
		if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the transfer over the silent link ended with %v", err)
		}
	case <-time.After(hang):
		t.Fatal("the transfer over the silent link did not end")
	}
	req, err := http.NewRequest(http.MethodGet, l.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Range", "bytes=0-99")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	if n, err := io.Copy(io.Discard, resp.Body); n != 100 || err != nil {
		t.Errorf("a new connection brought %d bytes, %v", n, err)
	}
	select {
	case err := <-ends:
		t.Errorf("the transfer over the other link ended, too: %v", err)
	default:
	}
}

// TestProxySplitsAFile: one file comes over both links, whole, though one of them falls silent
// on the way; what asks for it then, works.
func TestProxySplitsAFile(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, slowLTE)
	addr, stop := startProxy(t, l)
	client := through(l, addr)
	fetch := func(silence bool) {
		resp, err := client.Get(l.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // it is read
		h := sha256.New()
		if _, err := io.CopyN(h, resp.Body, 4e6); err != nil {
			t.Fatal(err)
		}
		if silence {
			if err := l.Event("wlan0 down"); err != nil {
				t.Fatal(err)
			}
		}
		n, pause, err := copyTimed(h, resp.Body)
		if err != nil || fmt.Sprintf("%x", h.Sum(nil)) != l.SHA256() {
			t.Errorf("%d bytes, not the file: %v", 4_000_000+n, err)
		}
		t.Logf("a link falls silent: %v; the client's longest pause: %v", silence, pause.Round(time.Millisecond))
	}
	fetch(true)
	fetch(false)
	said := stop()
	for _, name := range l.Links() {
		if !strings.Contains(said, "link "+name+": ") || strings.Contains(said, "link "+name+": 0 connections, 0 B up, 0 B down") {
			t.Errorf("%s carried nothing:\n%s", name, said)
		}
	}
}

// copyTimed copies, and measures the longest time for which nothing comes.
func copyTimed(w io.Writer, r io.Reader) (n int64, longest time.Duration, err error) {
	buf := make([]byte, 64<<10)
	for last := time.Now(); ; {
		m, err := r.Read(buf)
		longest, last = max(longest, time.Since(last)), time.Now()
		n += int64(m)
		if _, err := w.Write(buf[:m]); err != nil {
			return n, longest, err
		}
		switch {
		case errors.Is(err, io.EOF):
			return n, longest, nil
		case err != nil:
			return n, longest, err
		}
	}
}

// TestProxyWhereNamesHangOnOneLink: a link whose name server never answers loses to the other one
// before a client gives up, by every protocol that has names.
func TestProxyWhereNamesHangOnOneLink(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 1e6}, fastWiFi, fastLTE)
	silent, err := l.ListenPacket(0) // nobody reads what comes there
	check(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	conn, err := l.ListenPacket(0)
	check(t, err)
	u, err := url.Parse(l.URL())
	check(t, err)
	s := &nameServer{conn: conn, address: netip.MustParseAddr(u.Hostname()).As4()}
	s.start(t)
	addr, _ := startProxy(t, l, "--affinity", "none", "--split", "0",
		"--link", l.Links()[0]+",dns="+silent.LocalAddr().String(), "--link", l.Links()[1]+",dns="+conn.LocalAddr().String())
	for _, scheme := range []string{"http", "socks5h", "socks4a"} {
		for range 3 {
			c := l.Command(t.Context(), "curl", "-sSf", "--noproxy", "", "--max-time", "10", "-x", scheme+"://"+addr, "-o", "/dev/null",
				"-w", "%{size_download} %{time_starttransfer}", "http://files.test:"+u.Port()+u.Path)
			var out strings.Builder
			c.Stdout = &out
			if err := c.Run(); err != nil || !strings.HasPrefix(out.String(), "1000000 ") {
				t.Errorf("%s: %v, %s", scheme, err, out.String())
			}
			t.Logf("%s: bytes and seconds to the first one: %s", scheme, out.String())
		}
	}
	if s.asked.Load() == 0 {
		t.Error("nobody asked for a name")
	}
}

// lines is what a program writes while others read it.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestProxyHangupChangesLinks: at SIGHUP links join and leave as the file of flags says. A link
// that stays keeps its transfers, one that leaves ends them.
func TestProxyHangupChangesLinks(t *testing.T) {
	l := startLab(t, linklab.Config{Size: 200e6}, slowWiFi, slowLTE)
	wifi, lte := l.Links()[0], l.Links()[1]
	file := filepath.Join(t.TempDir(), "proxy.conf")
	say := func(text string) { check(t, os.WriteFile(file, []byte(text), 0o600)) }
	say("links = " + wifi + "\n")
	addr, hangUp, stop := startProxyOver(t, l, "--config", file, "--placement", "round-robin", "--affinity", "none", "--split", "0")
	client := through(l, addr)
	begin := func() (body io.ReadCloser) {
		t.Helper()
		resp, err := client.Get(l.URL())
		check(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		_, err = io.CopyN(io.Discard, resp.Body, 200_000)
		check(t, err)
		return resp.Body
	}
	over := func() (names []string) {
		t.Helper()
		resp, err := (&http.Client{Transport: &http.Transport{
			DialContext: func(context.Context, string, string) (net.Conn, error) { return dialInClient(l, addr) }, DisableKeepAlives: true,
		}}).Get("http://" + addr + "/metrics")
		check(t, err)
		defer resp.Body.Close() //nolint:errcheck // it is read
		text, err := io.ReadAll(resp.Body)
		check(t, err)
		for _, name := range l.Links() {
			if regexp.MustCompile(`tunnels\{[^}]*link="` + name + `"[^}]*\} [1-9]`).Match(text) {
				names = append(names, name)
			}
		}
		return names
	}
	first := begin()
	if got := over(); !slices.Equal(got, []string{wifi}) {
		t.Errorf("over one link: %v", got)
	}
	say("links = " + wifi + "," + lte + "\n")
	hangUp("hold now")
	begin()
	begin() // one of the two has the link that has joined
	if got := over(); !slices.Equal(got, []string{wifi, lte}) {
		t.Errorf("when a link has joined: %v", got)
	}
	_, err := io.CopyN(io.Discard, first, 200_000)
	check(t, err) // the link that stayed kept it
	say("links = " + lte + "\n")
	hangUp("hold now")
	if _, err := io.Copy(io.Discard, first); !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a transfer over the link that has left ended with %v", err)
	}
	begin()
	if got := over(); !slices.Equal(got, []string{lte}) {
		t.Errorf("when a link has left: %v", got)
	}
	say("links = nosuchlink0\n")
	hangUp("stay as they were")
	begin()
	if said := stop(); !strings.Contains(said, "link "+wifi+" is not used any more") {
		t.Errorf("it has said\n%s", said)
	}
}
