package store

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/mlget/mlget/internal/identity"
)

// maxValidator bounds the length in bytes of a validator that is kept.
const maxValidator = 1024

// differ says whether bytes of which an earlier run has noted was are of another object than id.
func differ(was, id identity.Identity) bool {
	known := identity.Resumed(was)
	verdict, _ := known.Judge(identity.Claim{Identity: id})
	return verdict == identity.Differs
}

// keepable drops the validators that the journal could not give back exactly.
// The object then has one proof less; it never gets a false one.
func keepable(id identity.Identity) identity.Identity {
	if len(id.ETag) > maxValidator || !utf8.ValidString(id.ETag) {
		id.ETag = ""
	}
	if len(id.LastModified) > maxValidator || !utf8.ValidString(id.LastModified) {
		id.LastModified = ""
	}
	id.Size = max(id.Size, -1)
	return id
}

// origin is a journal's record of a URL. Signed URLs carry secrets in their query, so only the
// query's hash is kept.
type origin struct {
	display string // without user, password, query and fragment
	sum     string // SHA-256 of the URL without user, password and fragment
}

func originOf(u *url.URL) origin {
	bare := *u
	bare.User, bare.Fragment, bare.RawFragment = nil, "", ""
	sum := sha256.Sum256([]byte(bare.String()))
	bare.RawQuery, bare.ForceQuery = "", false
	return origin{display: strings.ToValidUTF8(bare.String(), "_"), sum: hex.EncodeToString(sum[:])}
}
