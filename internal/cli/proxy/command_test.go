package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/testbody"
)

// said is what a command has written.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// run runs the command until ctx ends.
func run(ctx context.Context, args ...string) (*said, error) {
	out := new(said)
	cmd := NewCommand(console.IO{In: strings.NewReader(""), Out: out, Err: out})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return out, cmd.ExecuteContext(ctx)
}

// begin starts the command over the loopback interface, which stands for any link, and returns
// its address.
func begin(t *testing.T, args ...string) (addr string, out *said, end func()) {
	t.Helper()
	out = new(said)
	cmd := NewCommand(console.IO{In: strings.NewReader(""), Out: out, Err: out})
	cmd.SetArgs(append([]string{"-l", "lo", "--listen", "127.0.0.1:0", "--grace", "0s", "-v"}, args...))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	end = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	listening := regexp.MustCompile(`proxy at (\S+):`)
	for range 3000 {
		if m := listening.FindStringSubmatch(out.String()); m != nil {
			return m[1], out, end
		}
		select {
		case err := <-done:
			done <- err
			t.Fatalf("%v\n%s", err, out)
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("it does not listen: %s", out)
	return "", nil, nil
}

func through(t *testing.T, addr string) *http.Client {
	t.Helper()
	tr := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "http", Host: addr}, nil }}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func serve(t *testing.T, size int64) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Unix(1e9, 0), testbody.Body{Size: size}.Reader())
	}))
	t.Cleanup(s.Close)
	return s
}

// fetch gets a URL and returns the status and the length of the body.
func fetch(t *testing.T, c *http.Client, u string) (status int, size int64, err error) {
	t.Helper()
	resp, err := c.Get(u)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // it is read
	size, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, size, err
}

func TestProxyOverOneLink(t *testing.T) {
	s := serve(t, 5_000_000)
	addr, out, end := begin(t)
	if status, n, err := fetch(t, through(t, addr), s.URL); status != 200 || n != 5_000_000 || err != nil {
		t.Errorf("%d, %d bytes, %v", status, n, err)
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if status, n, err := fetch(t, direct, "http://"+addr+"/"+s.URL+"/"); status != 200 || n != 5_000_000 || err != nil {
		t.Errorf("the gateway: %d, %d bytes, %v", status, n, err)
	}
	for _, path := range []string{"/", "/metrics", "/healthz", "/proxy.pac"} {
		if status, _, err := fetch(t, direct, "http://"+addr+path); status != 200 || err != nil {
			t.Errorf("%s: %d, %v", path, status, err)
		}
	}
	end()
	if !strings.Contains(out.String(), "link lo: 1 connections, ") && !strings.Contains(out.String(), "link lo: 2 connections, ") {
		t.Errorf("its last words are %s", out)
	}
}

// TestRateOfALink: rate= holds for what clients get, by any protocol.
func TestRateOfALink(t *testing.T) {
	s := serve(t, 600_000)
	addr, _, _ := begin(t, "--link", "lo,rate=500KB")
	tunnelled := through(t, addr)
	secure := httptest.NewTLSServer(s.Config.Handler)
	defer secure.Close()
	tunnelled.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig //nolint:forcetypeassert // they are
	for _, u := range []string{s.URL, secure.URL} {
		began := time.Now()
		status, n, err := fetch(t, tunnelled, u)
		if status != 200 || n != 600_000 || err != nil {
			t.Errorf("%s: %d, %d bytes, %v", u, status, n, err)
		}
		if took := time.Since(began); took < time.Second {
			t.Errorf("%s: 600 KB at 500 KB/s took %v", u, took)
		}
	}
}

// TestCapOfALink: what the proxy's connections carry counts against cap=.
func TestCapOfALink(t *testing.T) {
	s := serve(t, 3_000_000)
	addr, _, _ := begin(t, "--link", "lo,cap=1MB")
	c := through(t, addr)
	_, _, _ = fetch(t, c, s.URL) // it may end early
	for range 2000 {
		if status, _, _ := fetch(t, c, s.URL); status == http.StatusServiceUnavailable {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the link is used without end")
}

func TestMistakes(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("ann\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		code int
	}{
		{[]string{"--listen", "0.0.0.0:0"}, exit.Usage},
		{[]string{"--listen", ":0"}, exit.Usage},
		{[]string{"--listen", "here"}, exit.Usage},
		{[]string{"--allow", "everybody"}, exit.Usage},
		{[]string{"--placement", "best"}, exit.Usage},
		{[]string{"--affinity", "any"}, exit.Usage},
		{[]string{"--energy", "none"}, exit.Usage},
		{[]string{"--link", "lo,proxy=http://127.0.0.1:1"}, exit.Usage},
		{[]string{"--link", "lo,speed=1"}, exit.Usage},
		{[]string{"-l", "nosuchlink0", "--require-all-links"}, exit.NoLink},
		{[]string{"--proxy-auth", users}, exit.File},
		{[]string{"--proxy-auth", users + "0"}, exit.File},
		{[]string{"--energy-model", users + "0"}, exit.File},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // for what is no mistake to it
		out, err := run(ctx, append([]string{"-l", "lo", "--listen", "127.0.0.1:0"}, test.args...)...)
		cancel()
		code, _ := exit.Classify(err)
		if err == nil || code != test.code {
			t.Errorf("%v: exit %d, want %d: %v\n%s", test.args, code, test.code, err, out)
		}
	}
	_, err := run(t.Context(), "-l", "nosuchlink0", "--listen", "127.0.0.1:0")
	if code, _ := exit.Classify(err); code != exit.NoLink {
		t.Errorf("without a link: exit %d, %v", code, err)
	}
}
