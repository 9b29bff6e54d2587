//go:build android || (linux && (arm || arm64))

package roots

import (
	"crypto/x509"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// addEmbedded adds Mozilla's list as of when the program was built. It weighs
// 0.2 MB, and so is only in what may run on a phone.
func addEmbedded(pool *x509.CertPool) (n int) {
	for r := range bundle.Roots() {
		c, err := x509.ParseCertificate(r.Certificate)
		if err != nil {
			continue
		}
		n++
		if r.Constraint != nil {
			pool.AddCertWithConstraint(c, r.Constraint)
		} else {
			pool.AddCert(c)
		}
	}
	return n
}
