package fetch

import (
	"net/http"
	"strings"
)

// Object is what a response tells of the whole object behind the URL.
type Object struct {
	Size          int64  // bytes; -1 when unknown
	ETag          string // as sent, quotes and W/ included; empty when there is none
	LastModified  string // as sent; empty when there is none
	Encoding      string // its content coding, with which the bytes are saved as they are sent; empty when there is none
	AcceptsRanges bool   // the server has shown or said that it serves byte ranges
	Name          string // the file name that the server proposes, as it came; empty when there is none
}

// Same reports whether nothing speaks against o and p being the same bytes, so
// that parts of both may be put into one file:
//
//   - sizes that are both known must be equal, and so must the encodings;
//   - when both have a strong ETag, equality of those decides (RFC 9110, 8.8.3);
//   - otherwise Last-Modified, when both have one, must be equal, and so must the
//     opaque parts of the ETags when both have one (weak comparison).
//
// What only one of them has is no evidence. Two objects without any validator
// are the same when their sizes agree: there is nothing better to go by.
func (o Object) Same(p Object) bool {
	if o.Size >= 0 && p.Size >= 0 && o.Size != p.Size || o.Encoding != p.Encoding {
		return false
	}
	if isStrong(o.ETag) && isStrong(p.ETag) {
		return o.ETag == p.ETag
	}
	if o.LastModified != "" && p.LastModified != "" && o.LastModified != p.LastModified {
		return false
	}
	if o.ETag != "" && p.ETag != "" {
		return strings.TrimPrefix(o.ETag, "W/") == strings.TrimPrefix(p.ETag, "W/")
	}
	return true
}

// isStrong reports whether tag is an entity tag that promises equal bytes.
func isStrong(tag string) bool { return strings.HasPrefix(tag, `"`) }

// objectOf reads the validators of a response; the size and the encoding, which is
// one of the body, are the caller's to set.
func objectOf(h http.Header) Object {
	o := Object{Size: -1, ETag: validator(h, "Etag"), LastModified: validator(h, "Last-Modified"), Name: proposedName(h)}
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
