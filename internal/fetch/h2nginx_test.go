package fetch

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// unixDialer dials one socket, whatever the address.
type unixDialer string

func (d unixDialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	var nd net.Dialer
	return nd.DialContext(ctx, "unix", string(d))
}

// startNginx serves b over TLS and HTTP/2 on a Unix socket, with the certificate
// of s; it skips the test where nginx is not installed, or is without HTTP/2.
func startNginx(t *testing.T, s *httptest.Server, b testbody.Body) unixDialer {
	t.Helper()
	exe := ""
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			exe = path
			break
		}
	}
	if exe == "" {
		t.Skip("nginx is not installed")
	}
	// The path of a socket is short; that of t.TempDir may not be.
	dir, err := os.MkdirTemp("", "h2")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write("cert", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}))
	write("key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	write("body", part(t, b, 0, b.Size))
	write("conf", fmt.Appendf(nil, `daemon off; master_process off; pid %[1]s/pid;
events {}
http {
  access_log off; client_body_temp_path %[1]s/1; proxy_temp_path %[1]s/2; fastcgi_temp_path %[1]s/3;
  uwsgi_temp_path %[1]s/4; scgi_temp_path %[1]s/5;
  server { listen unix:%[1]s/socket ssl http2; ssl_certificate %[1]s/cert; ssl_certificate_key %[1]s/key; root %[1]s; }
  server { listen unix:%[1]s/clear; root %[1]s; keepalive_requests 100; }
}`, dir))
	cmd := exec.Command(exe, "-p", dir, "-c", dir+"/conf", "-e", dir+"/err")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	over := make(chan struct{})
	go func() { _ = cmd.Wait(); close(over) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-over
	})
	listens := func(socket string) bool {
		c, err := net.Dial("unix", dir+socket)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	for {
		if listens("/socket") && listens("/clear") {
			return unixDialer(dir + "/socket")
		}
		select {
		case <-over:
			why, _ := os.ReadFile(dir + "/err")
			t.Skipf("nginx has ended: %s", why)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestNginx: against a server that is not Go's.
func TestNginx(t *testing.T) {
	b := testbody.Body{Size: 12<<20 + 345, Seed: 70}
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	d := startNginx(t, s, b)
	c := clientOver(t, Config{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig}, d)
	u := parse(t, "https://example.com/body")
	if got := must(t, c, u, 0, -1); sum(got) != b.SHA256() {
		t.Error("other bytes")
	}
	const step = 1_000_003
	whole := make([]byte, b.Size)
	var wg sync.WaitGroup
	for off := int64(0); off < b.Size; off += step {
		wg.Go(func() {
			r, err := c.Get(t.Context(), u, off, min(off+step, b.Size))
			if err != nil {
				t.Error(err)
				return
			}
			if r.Proto != "2" {
				t.Errorf("http/%s", r.Proto)
			}
			if _, err := io.ReadFull(r, whole[r.Off:r.End]); err != nil {
				t.Error(err)
			}
			_ = r.Close()
		})
	}
	wg.Wait()
	if sum(whole) != b.SHA256() {
		t.Error("other bytes")
	}
	for i := range int64(50) { // left early
		r, err := c.Get(t.Context(), u, i, b.Size)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, make([]byte, 1+i*997)); err != nil {
			t.Error(err)
		}
		_ = r.Close()
	}
	if e := mustFail(t, c, u, b.Size, b.Size+1); e.Class != Unsatisfied || e.Object == nil || e.Object.Size != b.Size {
		t.Errorf("beyond the end: %v", e)
	}
	if n := connections(c); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestNginxEndsConnections: what stands behind a connection's last response in the
// queue is sent again unnoticed, and queues go on being used.
func TestNginxEndsConnections(t *testing.T) {
	b := testbody.Body{Size: 8 << 20, Seed: 71}
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	d := startNginx(t, s, b)
	c := clientOver(t, Config{}, unixDialer(filepath.Join(filepath.Dir(string(d)), "clear")))
	f := &fetching{t: t, ctx: t.Context(), c: c, u: parse(t, "http://example.com/body"), b: b}
	slots := make(chan struct{}, maxDepth)
	const requests = 1500
	for i := range int64(requests) {
		slots <- struct{}{}
		f.wg.Go(func() {
			f.fetch(i*4000, i*4000+4000)
			<-slots
		})
	}
	f.wg.Wait()
	if n := connections(c); n < requests/100 || n > requests/50 {
		t.Errorf("%d connections", n)
	}
}
