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
	Path     string // the authority's certificate, PEM
	leaf     tls.Certificate
	renewed  tls.Certificate // another one for the same server
	stranger tls.Certificate // of another authority

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
	var leaves [3]tls.Certificate
	for i := range leaves {
		by, byKey := root, rootKey
		if i == 2 { // signed by an authority that clients do not trust
			by = &x509.Certificate{Subject: pkix.Name{CommonName: "linklab stranger"}}
			if byKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
				return nil, err
			}
		}
		if leaves[i], err = newLeaf(int64(2+i), root, hosts, by, byKey); err != nil {
			return nil, err
		}
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(leaves[0].PrivateKey)
	if err != nil {
		return nil, err
	}
	c := &CA{
		Path:     filepath.Join(dir, "ca.pem"),
		certPath: filepath.Join(dir, "cert.pem"),
		keyPath:  filepath.Join(dir, "key.pem"),
		leaf:     leaves[0],
		renewed:  leaves[1],
		stranger: leaves[2],
	}
	for _, f := range []struct {
		path, kind string
		der        []byte
		mode       os.FileMode
	}{
		{c.Path, "CERTIFICATE", rootDER, 0o644},
		{c.certPath, "CERTIFICATE", c.leaf.Certificate[0], 0o644},
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

// Renewed is another certificate of the server by the same authority, with its
// key, and Stranger one that another authority has signed.
func (c *CA) Renewed() tls.Certificate { return c.renewed }

// Stranger is described at Renewed.
func (c *CA) Stranger() tls.Certificate { return c.stranger }

// newLeaf makes a server's certificate that is good as long as like is, signed
// by an authority.
func newLeaf(serial int64, like *x509.Certificate, hosts []string, by *x509.Certificate, byKey *ecdsa.PrivateKey) (tls.Certificate, error) {
	var none tls.Certificate
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "linklab server"},
		NotBefore:    like.NotBefore,
		NotAfter:     like.NotAfter,
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
		return none, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, by, &key.PublicKey, byKey)
	if err != nil {
		return none, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}
