package store

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode/utf8"
)

// maxValidator bounds the length in bytes of a validator that is kept.
const maxValidator = 1024

// Identity is what makes two objects the same: their size, how they are encoded, and
// what the server says of their version. The URL is not part of it: Open compares URLs.
type Identity struct {
	Size         int64  // bytes; -1: unknown
	ETag         string // as in the header, quotes and W/ included; "": none
	LastModified string // as in the header; "": none
	Encoding     string // the content coding of the bytes, valid UTF-8; "": none
}

// Match says how far two identities agree.
type Match uint8

const (
	// Differs says that these are two objects.
	Differs Match = iota
	// Unproven says that nothing speaks against their being one object, but no
	// validator speaks for it either. Bytes must not be mixed on this ground
	// unless the user asked for it (-c).
	Unproven
	// Same says that sizes agree and so does a validator.
	Same
)

// SameObject compares the identity in a journal with what the server says
// now. Encodings must be equal, and sizes where both are known; a known size
// against an unknown one differs, except that a journal of which nothing is known
// (the bytes of another tool) is Unproven. Of the validators, strong ETags
// decide if both sides have one, else Last-Modified if both have it, else the
// match is Unproven. Weak ETags (RFC 9110, 8.8.3) promise the same meaning,
// not the same bytes: that they are equal proves nothing, but where the opaque
// parts differ, so do the objects.
func SameObject(journal, server Identity) Match {
	if journal == (Identity{Size: -1}) {
		return Unproven
	}
	if journal.Size != server.Size || journal.Encoding != server.Encoding {
		return Differs
	}
	if journal.ETag != "" && server.ETag != "" && opaque(journal.ETag) != opaque(server.ETag) {
		return Differs
	}
	if strong(journal.ETag) && strong(server.ETag) {
		return Same
	}
	if journal.LastModified != "" && server.LastModified != "" {
		return matchIf(journal.LastModified == server.LastModified)
	}
	return Unproven
}

func matchIf(equal bool) Match {
	if equal {
		return Same
	}
	return Differs
}

// opaque is an ETag without the mark of weak ones.
func opaque(etag string) string {
	return strings.TrimPrefix(strings.TrimPrefix(etag, "W/"), "w/")
}

func strong(etag string) bool {
	return etag != "" && etag == opaque(etag)
}

// keepable drops the validators that the journal could not give back exactly.
// The object then has one proof less; it never gets a false one.
func (id Identity) keepable() Identity {
	if len(id.ETag) > maxValidator || !utf8.ValidString(id.ETag) {
		id.ETag = ""
	}
	if len(id.LastModified) > maxValidator || !utf8.ValidString(id.LastModified) {
		id.LastModified = ""
	}
	id.Size = max(id.Size, -1)
	return id
}

// origin is what a journal may say of a URL. Signed URLs carry secrets in
// their query, so the query is known by its hash alone.
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
