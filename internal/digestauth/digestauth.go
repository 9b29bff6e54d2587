// Package digestauth answers a server's challenge for HTTP digest authentication
// (RFC 7616): MD5, SHA-256, their -sess variants, and qop=auth, or none
// as in RFC 2069. auth-int, which covers bodies of requests, is not spoken.
package digestauth

import (
	"crypto/md5" //nolint:gosec // RFC 7616 has it
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// Session is a challenge and how often it has been answered. It is not safe for use by
// several goroutines.
type Session struct {
	realm, nonce, opaque string
	algorithm            string // as the server spells it; empty: not said, which is MD5
	hash                 func() hash.Hash
	sess, auth           bool
	cnonce               string
	count                uint32 // answers given with this nonce
}

// New makes a session of the first challenge that can be answered; nil: there is none.
// stale says that the server refused an answer only for the age of its nonce.
func New(challenges []Challenge) (s *Session, stale bool) {
	for _, c := range challenges {
		if !strings.EqualFold(c.Scheme, "Digest") {
			continue
		}
		s := &Session{realm: c.Params["realm"], nonce: c.Params["nonce"], opaque: c.Params["opaque"], algorithm: c.Params["algorithm"], cnonce: rand.Text()}
		name, sess := strings.CutSuffix(strings.ToUpper(s.algorithm), "-SESS")
		s.sess = sess
		switch name {
		case "", "MD5":
			s.hash = md5.New
		case "SHA-256":
			s.hash = sha256.New
		default:
			continue
		}
		qop, given := c.Params["qop"]
		for option := range strings.SplitSeq(qop, ",") {
			s.auth = s.auth || strings.EqualFold(strings.TrimSpace(option), "auth")
		}
		if s.nonce == "" || given && !s.auth {
			continue
		}
		return s, strings.EqualFold(c.Params["stale"], "true")
	}
	return nil, false
}

// Authorization is the header's value for the next request; uri is its target as it stands
// in the request line.
func (s *Session) Authorization(method, uri, user, password string) string {
	s.count++
	secret := s.sum(user, s.realm, password)
	if s.sess {
		secret = s.sum(secret, s.nonce, s.cnonce)
	}
	nc := fmt.Sprintf("%08x", s.count)
	asked := s.sum(method, uri)
	response := s.sum(secret, s.nonce, asked)
	if s.auth {
		response = s.sum(secret, s.nonce, nc, s.cnonce, "auth", asked)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `Digest username=%s, realm=%s, nonce=%s, uri=%s, response="%s"`, quote(user), quote(s.realm), quote(s.nonce), quote(uri), response)
	if s.algorithm != "" {
		b.WriteString(", algorithm=" + s.algorithm)
	}
	if s.opaque != "" {
		b.WriteString(", opaque=" + quote(s.opaque))
	}
	switch {
	case s.auth:
		fmt.Fprintf(&b, ", qop=auth, nc=%s, cnonce=%s", nc, quote(s.cnonce))
	case s.sess:
		b.WriteString(", cnonce=" + quote(s.cnonce))
	}
	return b.String()
}

// sum is the hash, in hexadecimal, of the parts with colons between them.
func (s *Session) sum(parts ...string) string {
	h := s.hash()
	_, _ = h.Write([]byte(strings.Join(parts, ":"))) // a hash takes everything
	return hex.EncodeToString(h.Sum(nil))
}

// quote is a quoted-string (RFC 9110, 5.6.4); what none may have becomes a question mark.
func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
		case c < ' ' || c == 0x7f:
			c = '?'
		}
		b.WriteByte(c)
	}
	b.WriteByte('"')
	return b.String()
}
