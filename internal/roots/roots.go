// Package roots finds the certificate authorities that Android trusts, which
// Go does not: it reads none of those that come by way of updates, and in a
// program built for plain Linux none at all.
//
// Contract: Find is safe for concurrent use and owns nothing.
package roots

import (
	"crypto/x509"
	"io"
	"os"
	"path/filepath"
)

// Where Android keeps them: since 14 in a module that is updated by itself
// (Conscrypt), before that, and as a copy still, in the system's image. The
// user's own are not for command-line programs, as they are not for apps.
const (
	conscryptDir = "apex/com.android.conscrypt/cacerts"
	systemDir    = "system/etc/security/cacerts"
)

const (
	maxFile  = 64 << 10 // bytes of one that are looked at
	maxFiles = 2000     // of a folder
)

// The names of where authorities come from.
const (
	FromEnvironment = "SSL_CERT_FILE or SSL_CERT_DIR"
	FromProgram     = "the program's own list"
	FromGo          = "the system's"
)

// Roots are certificate authorities.
type Roots struct {
	Pool   *x509.CertPool // nil: what Go finds by itself
	Source string         // for people: a folder, or one of the names above
	Count  int            // how many; 0 where Go looks for itself
}

// Find gives the authorities to trust on an Android phone whose files are
// below root: those of SSL_CERT_FILE and SSL_CERT_DIR if the user has set them,
// else those of Conscrypt, of the system's image, or of this program. Where
// none of these has any, it is what Go finds.
func Find(root string) Roots {
	if os.Getenv("SSL_CERT_FILE") != "" || os.Getenv("SSL_CERT_DIR") != "" {
		return Roots{Source: FromEnvironment}
	}
	if root == "" {
		root = string(filepath.Separator)
	}
	for _, dir := range [...]string{conscryptDir, systemDir} {
		path := filepath.Join(root, filepath.FromSlash(dir))
		pool := x509.NewCertPool()
		if n := addFolder(pool, path); n > 0 {
			return Roots{Pool: pool, Source: path, Count: n}
		}
	}
	pool := x509.NewCertPool()
	if n := addEmbedded(pool); n > 0 {
		return Roots{Pool: pool, Source: FromProgram, Count: n}
	}
	return Roots{Source: FromGo}
}

// addFolder adds the certificates in a folder's files; others are passed over.
func addFolder(pool *x509.CertPool, dir string) (n int) {
	f, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // nothing was written
	names, err := f.Readdirnames(maxFiles)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if pool.AppendCertsFromPEM(readSmall(filepath.Join(dir, name))) {
			n++
		}
	}
	return n
}

// readSmall reads the beginning of a regular file; others are empty.
func readSmall(path string) []byte {
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	return b
}
