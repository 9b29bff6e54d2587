package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	a := &authority{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der, err := x509.CreateCertificate(rand.Reader, a.cert, a.cert, &key.PublicKey, key)
	check(t, err)
	a.cert, err = x509.ParseCertificate(der)
	check(t, err)
	return a
}

// write writes its certificate for --cacert.
func (a *authority) write(t *testing.T, name string) {
	t.Helper()
	check(t, os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}), 0o600))
}

// issue makes a server's certificate, which change may spoil.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	change(leaf)
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, &key.PublicKey, a.key)
	check(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestTLSIsVerified: a certificate that is not right ends the download, after one
// handshake, with nothing asked: neither directly, nor where a redirect leads, nor
// through a proxy (axel CVE-2020-13614).
func TestTLSIsVerified(t *testing.T) {
	dir := t.TempDir()
	ours, other := newAuthority(t), newAuthority(t)
	ca := filepath.Join(dir, "ca.pem")
	ours.write(t, ca)
	for _, c := range []struct {
		name   string
		from   *authority
		change func(*x509.Certificate)
		code   int
	}{
		{"right", ours, func(*x509.Certificate) {}, 0},
		{"of another authority", other, func(*x509.Certificate) {}, 5},
		{"expired", ours, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }, 5},
		{"not yet valid", ours, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }, 5},
		{"for another address", ours, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 2)} }, 5},
		{"for no address", ours, func(c *x509.Certificate) { c.IPAddresses, c.Subject.CommonName = nil, "127.0.0.1" }, 5},
		{"for a name like it", ours, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"127.0.0.1.example.org", "*"} }, 5},
		{"of a client", ours, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			var handshakes, requests atomic.Int64
			b := body(5000, "")
			site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				http.ServeContent(w, r, "", modified(), b.Reader())
			}))
			cert := c.from.issue(t, c.change)
			site.Config.ErrorLog = log.New(io.Discard, "", 0)
			site.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				handshakes.Add(1)
				return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}, nil
			}}
			site.StartTLS()
			defer site.Close()
			from := newSite(t)
			for _, u := range []string{site.URL + "/x", from.clear.URL + "/to/1/x?url=" + url.QueryEscape(site.URL+"/y")} {
				handshakes.Store(0)
				requests.Store(0)
				// One connection: to a server that a busy machine makes look far away several are made.
				r := mlget(t, dir, "--cacert", ca, "-t", "5", "-p", "1", "-o", "out", u)
				r.want(t, c.code)
				if c.code == 0 {
					wantFile(t, filepath.Join(dir, "out"), 5000, "")
					continue
				}
				r.want(t, 5, "^mlget: .*certificate", "^mlget: hint: .*--cacert")
				if h, n := handshakes.Load(), requests.Load(); h != 1 || n != 0 {
					t.Errorf("%s: %d handshakes, %d requests", u, h, n)
				}
			}
		})
	}
}

// TestTLSThroughProxy: a proxy changes nothing of that, and cannot pose as the server.
func TestTLSThroughProxy(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	t.Setenv("https_proxy", s.clear.URL)
	ca, err := s.writeCA(dir)
	check(t, err)
	mlget(t, dir, "--cacert", ca, "https://example.com/ranges/1000/x").want(t, 0)
	s.seen()
	mlget(t, dir, "--cacert", ca, "https://example.org/ranges/1000/x").want(t, 5, "certificate")
	mlget(t, dir, "https://example.com/ranges/1000/x").want(t, 5, "certificate")
	for _, r := range s.seen() {
		if r != "CONNECT" {
			t.Errorf("the site saw %q", r)
		}
	}
}
