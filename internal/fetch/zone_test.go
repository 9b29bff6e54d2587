package fetch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// Names of interfaces are case-sensitive (enP4p65s0, as systemd has them).
func TestZoneKeepsItsCase(t *testing.T) {
	u := parse(t, "http://[FE80::1%25enP4p65s0]:8/")
	if err := checkURL(u); err != nil {
		t.Fatal(err)
	}
	if got, want := originOf(u).addr, "[fe80::1%enP4p65s0]:8"; got != want {
		t.Errorf("dials %s, want %s", got, want)
	}
}

// A zone is for this machine only (RFC 6874, 3): no server, and no proxy, gets it.
func TestZoneIsNotSent(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 1}
	for _, fl := range flavours() {
		t.Run(fl.name, func(t *testing.T) {
			asked := make(chan string, 1)
			s := fl.server(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.Host
				serveBody(b).ServeHTTP(w, r)
			}))
			cfg := fl.config(s)
			if cfg.TLS != nil {
				cfg.TLS = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // a test's
			}
			scheme, _, _ := strings.Cut(s.URL, ":")
			c := clientOver(t, cfg, hosts{"[fe80::1%eth0]:4433": s.Listener.Addr().String()})
			must(t, c, parse(t, scheme+"://[fe80::1%25eth0]:4433/f"), 0, 1000)
			if got := <-asked; got != "[fe80::1]:4433" {
				t.Errorf("host %q", got)
			}
		})
	}
	for scheme, want := range map[string]string{"http": "http://[fe80::1]:4433/f", "https": "[fe80::1]:4433"} {
		t.Run(scheme+" through a proxy", func(t *testing.T) {
			asked := make(chan [2]string, 1)
			s := newRawServer(t, func(p *peer) {
				if r := p.request(); r != nil {
					asked <- [2]string{r.RequestURI, r.Host}
					p.say("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
				}
			})
			c := client(t, Config{Proxies: by{s.url(t)}})
			_ = mustFail(t, c, parse(t, scheme+"://[fe80::1%25eth0]:4433/f"), 0, 1000)
			select {
			case got := <-asked:
				if got != [2]string{want, "[fe80::1]:4433"} {
					t.Errorf("%q", got)
				}
			default:
				t.Error("no request that can be read")
			}
		})
	}
}

// A certificate is for an address, and knows of no zones.
func TestZoneIsNotCertified(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP("fe80::1")}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(serveBody(testbody.Body{Size: 1000, Seed: 1}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}} //nolint:gosec // a test's
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	c := clientOver(t, Config{TLS: &tls.Config{RootCAs: roots}}, hosts{"[fe80::1%eth0]:443": s.Listener.Addr().String()}) //nolint:gosec // a test's
	must(t, c, parse(t, "https://[fe80::1%25eth0]/f"), 0, 1000)
}
