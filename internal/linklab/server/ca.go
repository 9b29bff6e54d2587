package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// CA is an authority made for one lab, and the certificate of its server.
type CA struct {
	Path string // the authority's certificate, PEM
	leaf tls.Certificate

	certPath, keyPath string // for nginx
}

// NewCA makes an authority and a certificate for the addresses and names, and
// writes them into dir. The authority's key is forgotten at once.
func NewCA(dir string, hosts []string) (*CA, error) {
	c, err := newCA(dir, hosts)
	if err != nil {
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return c, nil
}

func newCA(dir string, hosts []string) (*CA, error) {
	from := time.Now().Add(-time.Hour)
	root := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "linklab test authority"},
		NotBefore:             from,
		NotAfter:              from.Add(30 * 24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		Subject:      pkix.Name{CommonName: "linklab server"},
		NotBefore:    root.NotBefore,
		NotAfter:     root.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, h)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, root, &key.PublicKey, rootKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	c := &CA{
		Path:     filepath.Join(dir, "ca.pem"),
		certPath: filepath.Join(dir, "cert.pem"),
		keyPath:  filepath.Join(dir, "key.pem"),
		leaf:     tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: key},
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
		mode       os.FileMode
	}{
		{c.Path, "CERTIFICATE", rootDER, 0o644},
		{c.certPath, "CERTIFICATE", leafDER, 0o644},
		{c.keyPath, "PRIVATE KEY", keyDER, 0o600},
	} {
		text := pem.EncodeToMemory(&pem.Block{Type: f.kind, Bytes: f.der})
		if err := os.WriteFile(f.path, text, f.mode); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Certificate is the server's, with its key.
func (c *CA) Certificate() tls.Certificate { return c.leaf }
