package engine

import (
	"encoding/hex"
	"strings"
	"testing"
)

// FuzzParseChecksum: what is accepted is a sum of a known kind and of its length,
// and gives back what was written.
func FuzzParseChecksum(f *testing.F) {
	for _, s := range []string{
		"md5=d41d8cd98f00b204e9800998ecf8427e", "SHA-1=da39a3ee5e6b4b0d3255bfef95601890afd80709", "SHA1=DA39A3EE5E6B4B0D3255BFEF95601890AFD80709", "sha256=", "sha512=zz",
		"sha256= e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "=", "crc32=00", "md5", "md5==00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseChecksum(s)
		if err != nil {
			if c != nil {
				t.Fatalf("%+v with an error", c)
			}
			return
		}
		algorithm, sum, _ := strings.Cut(s, "=")
		h := c.hash()
		if h == nil || len(c.Sum) != h.Size() || !strings.EqualFold(strings.ReplaceAll(algorithm, "-", ""), c.Algorithm) || !strings.EqualFold(strings.TrimSpace(sum), hex.EncodeToString(c.Sum)) {
			t.Fatalf("%q: %+v", s, c)
		}
	})
}
