package fetch

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// digests reads the SHA-256 and SHA-512 from Repr-Digest (RFC 9530, 3), in base64; empty where
// there is none. The digest is always that of the whole object, on a partial response too. A
// header with two values for one algorithm, or with an invalid one, is ignored.
func digests(h http.Header) (sha256, sha512 string) {
	found := map[string]string{}
	for _, line := range h.Values("Repr-Digest") {
		for member := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(member), "=")
			value, _, _ = strings.Cut(value, ";") // parameters (RFC 8941, 3.1.2)
			value = strings.TrimSpace(value)
			if len(value) < 2 || value[0] != ':' || value[len(value)-1] != ':' {
				value = ""
			}
			if _, twice := found[name]; twice {
				value = ""
			}
			found[name] = strings.Trim(value, ":")
		}
	}
	return digestOf(found["sha-256"], 32), digestOf(found["sha-512"], 64)
}

// digestOf is v if it stands for so many bytes in base64, else empty.
func digestOf(v string, bytes int) string {
	raw, err := base64.StdEncoding.DecodeString(v)
	if err != nil || len(raw) != bytes {
		return ""
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// modifiedRecently says whether the object was modified less than a second before the server
// answered: then another version with the same date may follow (RFC 9110, 8.8.2.2).
func modifiedRecently(h http.Header) bool {
	modified, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return false
	}
	date, err := http.ParseTime(h.Get("Date"))
	return err == nil && date.Sub(modified) < time.Second
}
