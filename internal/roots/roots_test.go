package roots

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// authority makes a certificate authority, as the files on phones hold them:
// PEM with a description behind it.
func authority(t *testing.T, name string) (*x509.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return c, append(text, "Certificate:\n    Data:\n        Version: 3 (0x2)\n"...)
}

func write(t *testing.T, root, path string, b []byte) {
	t.Helper()
	path = filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "")
	t.Setenv("SSL_CERT_DIR", "")
	module, moduleText := authority(t, "of the module")
	image, imageText := authority(t, "of the image")
	trusts := func(r Roots, c *x509.Certificate) bool {
		if r.Pool == nil {
			return false
		}
		_, err := c.Verify(x509.VerifyOptions{Roots: r.Pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		return err == nil
	}
	root := t.TempDir()
	embeds := runtime.GOOS == "android" || runtime.GOOS == "linux" && strings.HasPrefix(runtime.GOARCH, "arm")
	r := Find(root)
	if embeds != (r.Source == FromProgram && r.Count > 100 && r.Pool != nil) || !embeds && (r.Source != FromGo || r.Pool != nil) {
		t.Errorf("an empty tree: %s, %d", r.Source, r.Count)
	}
	write(t, root, systemDir+"/11111111.0", imageText)
	if r := Find(root); r.Count != 1 || !trusts(r, image) || trusts(r, module) || !strings.HasSuffix(r.Source, filepath.FromSlash(systemDir)) {
		t.Errorf("Android 13: %+v", r)
	}
	// A folder without a certificate is none.
	write(t, root, conscryptDir+"/README", []byte("no certificate"))
	if r := Find(root); !trusts(r, image) {
		t.Errorf("an empty module: %+v", r)
	}
	write(t, root, conscryptDir+"/22222222.0", moduleText)
	if err := os.Mkdir(filepath.Join(root, filepath.FromSlash(conscryptDir), "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := Find(root); r.Count != 1 || !trusts(r, module) || trusts(r, image) || !strings.HasSuffix(r.Source, filepath.FromSlash(conscryptDir)) {
		t.Errorf("Android 14: %+v", r)
	}
	t.Setenv("SSL_CERT_FILE", "/some/file")
	if r := Find(root); r.Pool != nil || r.Source != FromEnvironment {
		t.Errorf("the user's own: %+v", r)
	}
}
