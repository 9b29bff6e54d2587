package server

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	hash string
}

// ask sends one request.
func ask(t *testing.T, tr *http.Transport, method, url string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	_, err = io.Copy(h, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer{resp, hex.EncodeToString(h.Sum(nil))}
}

func TestBuiltinServesBody(t *testing.T) {
	dir := t.TempDir()
	body, err := WriteBody(dir, 1<<20+5)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := NewCA(dir, []string{"127.0.0.1", "server.test"})
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := listen(t), listen(t)
	b := StartBuiltin(Config{Body: &body, CA: ca}, []net.Listener{plain}, []net.Listener{secure})
	text, err := os.ReadFile(ca.Path)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	for url, proto := range map[string]string{
		"http://" + plain.Addr().String() + "/body.bin":   "HTTP/1.1",
		"https://" + secure.Addr().String() + "/body.bin": "HTTP/2.0",
	} {
		a := ask(t, tr, http.MethodGet, url)
		if a.Proto != proto || a.hash != body.SHA256 || a.ContentLength != body.Size {
			t.Errorf("%s: %s, %d bytes, %s", url, a.Proto, a.ContentLength, a.hash)
		}
		if a := ask(t, tr, http.MethodPost, url); a.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: %s", a.Status)
		}
		if a := ask(t, tr, http.MethodGet, strings.Replace(url, "body.bin", "ca.pem", 1)); a.StatusCode != http.StatusNotFound {
			t.Errorf("a file beside the body: %s", a.Status)
		}
	}
	tr.CloseIdleConnections()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestCloseTellsWhyTheServerEnded(t *testing.T) {
	l := listen(t)
	b := StartBuiltin(Config{Dir: t.TempDir()}, []net.Listener{l}, nil)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b.wg.Wait()
	if err := b.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed with %v", err)
	}
}

func TestBodyIsTheSameInEveryRun(t *testing.T) {
	a, err := WriteBody(t.TempDir(), 100000)
	if err != nil {
		t.Fatal(err)
	}
	b, err := WriteBody(t.TempDir(), 100000)
	if err != nil {
		t.Fatal(err)
	}
	x, err := os.Stat(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b.Path)
	if err != nil {
		t.Fatal(err)
	}
	if a.SHA256 != b.SHA256 || !x.ModTime().Equal(y.ModTime()) {
		t.Error("two bodies of one size differ")
	}
	if _, err := WriteBody(filepath.Dir(a.Path), 1); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a body that is there: %v", err)
	}
}

func TestNginxConf(t *testing.T) {
	text, err := nginxConf(Config{Dir: "/srv/x y", CA: &CA{certPath: "/d/c", keyPath: "/d/k"}}, "/d", []string{"192.0.2.1", "2001:db8::1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"listen 192.0.2.1:80;", "listen [2001:db8::1]:443 ssl http2;", `ssl_certificate "/d/c";`,
		`root "/srv/x y";`, `proxy_temp_path "/d/proxy";`, "master_process off;",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, bad := range []string{`/a"b`, "/a;b", "/a$b", "/a\nb", "/a{b"} {
		if _, err := nginxConf(Config{Dir: bad}, "/d", nil); err == nil {
			t.Errorf("directory %q was accepted", bad)
		}
	}
}

func TestURL(t *testing.T) {
	for _, tc := range []struct {
		address, name string
		secure        bool
		want          string
	}{
		{"192.0.2.1", "x", false, "http://192.0.2.1/x"},
		{"2001:db8::1", "", true, "https://[2001:db8::1]/"},
	} {
		if got := URL(tc.address, tc.name, tc.secure); got != tc.want {
			t.Errorf("%+v: %s", tc, got)
		}
	}
}
