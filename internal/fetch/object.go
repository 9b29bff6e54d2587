package fetch

import (
	"net/http"
	"strings"
)

// Object is a response's description of the whole object behind the URL.
type Object struct {
	Size          int64  // bytes; -1 when unknown
	ETag          string // as sent, quotes and W/ included; empty when there is none
	LastModified  string // as sent; empty when there is none
	Encoding      string // its content coding, with which the bytes are saved as they are sent; empty when there is none
	SHA256        string // of the whole object, in base64 (RFC 9530, Repr-Digest); empty when not told
	SHA512        string
	Recent        bool   // LastModified is too near the time of the answer to tell two versions apart
	AcceptsRanges bool   // the server has shown or said that it serves byte ranges
	Name          string // the file name that the server proposes, as it came; empty when there is none
}

// ObjectOf reads the validators of a response; the size and the encoding, which is
// one of the body, are the caller's to set.
func ObjectOf(h http.Header) Object {
	o := Object{Size: -1, ETag: validator(h, "Etag"), LastModified: validator(h, "Last-Modified"), Name: proposedName(h)}
	o.SHA256, o.SHA512 = digests(h)
	o.Recent = modifiedRecently(h)
	for _, line := range h.Values("Accept-Ranges") {
		for unit := range strings.SplitSeq(line, ",") {
			o.AcceptsRanges = o.AcceptsRanges || strings.EqualFold(strings.TrimSpace(unit), "bytes")
		}
	}
	return o
}

// validator is a header's value if it is fit to be kept and sent back: present
// once, of sensible length, printable.
func validator(h http.Header, name string) string {
	const most = 1024
	v := h.Values(name)
	if len(v) != 1 || len(v[0]) > most || !isVisible(v[0]) {
		return ""
	}
	return v[0]
}

// isVisible reports whether s is a header value that a line of text can hold.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
