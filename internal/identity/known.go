// Package identity says which object an answer is of: it holds what is known of one object,
// and compares validators (RFC 9110, 8.8; RFC 9530). It is pure, and nothing else compares
// them.
//
// [Known] learns from the journal and from every answer that is accepted, over every link,
// and an answer that contradicts anything it has learnt is of another object. An answer that
// shares no validator with what is known proves nothing: its bytes have to.
package identity

import (
	"math"
	"strings"
	"time"
)

// Identity is what makes two objects the same: their size, how they are encoded, and
// what the server says of their version. URLs are not part of it.
type Identity struct {
	Size         int64  // bytes; -1: unknown
	ETag         string // as in the header, quotes and W/ included; "": none
	LastModified string // as in the header; "": none
	Encoding     string // the content coding of the bytes, valid UTF-8; "": none
}

// Modified is when the object was changed, as its server says. What no file can have is no
// time: seconds of 32 bits reach no further back, nanoseconds of 64 no further on.
func (id Identity) Modified() (at time.Time, known bool) {
	at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", id.LastModified)
	if err != nil || at.Unix() < math.MinInt32 || at.Unix() > math.MaxInt64/int64(time.Second) {
		return time.Time{}, false
	}
	return at, true
}

// Claim is what an answer says of the object.
type Claim struct {
	Identity
	SHA256 string // of the whole object (RFC 9530, Repr-Digest), in base64; "": not told
	SHA512 string
	// Recent says that Last-Modified is too near the time of the answer to tell two versions
	// apart that were made in one second (RFC 9110, 8.8.2.2).
	Recent bool
}

// Verdict says how far a claim agrees with what is known.
type Verdict uint8

const (
	// Differs says that the claim is about another object.
	Differs Verdict = iota
	// Unproven says that nothing contradicts it, and nothing shows that it is the same object.
	Unproven
	// Proven says that a validator agrees that both have.
	Proven
)

// Known is what is known of one object. The zero value knows nothing.
type Known struct {
	id             Identity
	sha256, sha512 string
	something      bool // id is valid
	modifiedVaries bool // servers of one strong ETag tell several times: none of them proves anything
	earlier        bool // all of it is what an earlier run has noted
	foreign        bool // that was another tool's, which has noted nothing
}

// Resumed is what a journal says. As long as nothing else has been learnt, only a strong
// validator proves that an answer is of the same object: much may have happened since.
func Resumed(journal Identity) Known {
	return Known{id: journal, something: true, earlier: true, foreign: journal == Identity{Size: -1}}
}

// Foreign says whether nothing is known but that there are bytes, of another tool.
func (k *Known) Foreign() bool { return k.foreign }

// Earlier says whether all that is known but the size is what an earlier run has noted.
func (k *Known) Earlier() bool { return k.earlier }

// Sized learns the size alone, from an answer that is not proven.
func (k *Known) Sized(size int64) {
	if !k.something {
		k.id, k.something = Identity{Size: size}, true
	}
	if k.id.Size < 0 {
		k.id.Size = size
	}
}

// Nothing says whether nothing has been learnt.
func (k *Known) Nothing() bool { return !k.something }

// Size is the object's size in bytes; -1: it is not known.
func (k *Known) Size() int64 {
	if !k.something {
		return -1
	}
	return k.id.Size
}

// Identity is what is worth keeping in a journal.
func (k *Known) Identity() Identity {
	if !k.something {
		return Identity{Size: -1}
	}
	return k.id
}

// Strong says whether there is a validator that promises equal bytes.
func (k *Known) Strong() bool {
	return k.something && (isStrong(k.id.ETag) || k.sha256 != "" || k.sha512 != "")
}

// Blind says whether there is no validator by which an answer of the same run could be
// recognised: only bytes can tell.
func (k *Known) Blind() bool {
	return k.something && !k.Strong() && (k.id.LastModified == "" || k.earlier)
}

// Judge says how far a claim agrees with what is known, and, where it Differs, in what.
//
//   - Sizes that are both known must be equal, and so must the encodings.
//   - A digest decides if both have one of the same kind, else the strong ETag.
//   - Where both have an ETag and one of them is weak, the opaque parts must be equal
//     (RFC 9110, 8.8.3.2), which promises the same meaning and not the same bytes.
//   - Last-Modified, if both have it, must be equal, and then proves the object, unless it is
//     Recent, or the claim has an ETag of which nothing is known yet: two versions of one
//     second can be told apart by that alone.
func (k *Known) Judge(c Claim) (v Verdict, what string) {
	if !k.something {
		return Unproven, ""
	}
	id := &k.id
	switch {
	case id.Size >= 0 && c.Size >= 0 && id.Size != c.Size:
		return Differs, "size"
	case id.Encoding != c.Encoding && !k.foreign:
		return Differs, "encoding"
	}
	equal := false
	for _, d := range [...][2]string{{k.sha256, c.SHA256}, {k.sha512, c.SHA512}} {
		switch {
		case d[0] == "" || d[1] == "":
		case d[0] != d[1]:
			return Differs, "digest"
		default:
			equal = true
		}
	}
	switch {
	case equal:
		return Proven, ""
	case id.ETag != "" && c.ETag != "" && opaque(id.ETag) != opaque(c.ETag):
		return Differs, "ETag"
	case isStrong(id.ETag) && isStrong(c.ETag):
		return Proven, ""
	case id.LastModified == "" || c.LastModified == "" || k.modifiedVaries:
		return Unproven, ""
	case id.LastModified != c.LastModified:
		return Differs, "Last-Modified"
	case k.earlier || c.Recent || id.ETag == "" && c.ETag != "":
		return Unproven, ""
	}
	return Proven, ""
}

// Proves says whether a validator of one claim proves another, whatever object they are of.
func Proves(one, other Claim) bool {
	var k Known
	k.Learn(one)
	v, _ := k.Judge(other)
	return v == Proven
}

// Learn takes what an answer says that has been accepted as one of the object: nothing
// that is known is forgotten.
func (k *Known) Learn(c Claim) {
	if size := k.Size(); !k.something || k.foreign {
		k.id, k.something = c.Identity, true
		k.id.Size = max(c.Size, size)
	}
	k.earlier, k.foreign = false, false
	if k.id.Size < 0 {
		k.id.Size = c.Size
	}
	if k.sha256 == "" {
		k.sha256 = c.SHA256
	}
	if k.sha512 == "" {
		k.sha512 = c.SHA512
	}
	if k.id.ETag == "" || !isStrong(k.id.ETag) && isStrong(c.ETag) {
		k.id.ETag = c.ETag
	}
	switch {
	case c.LastModified == "" || k.modifiedVaries:
	case k.id.LastModified == "":
		k.id.LastModified = c.LastModified
	case k.id.LastModified != c.LastModified:
		k.id.LastModified, k.modifiedVaries = "", true
	}
}

// opaque is an ETag without the mark of weak ones.
func opaque(etag string) string {
	return strings.TrimPrefix(strings.TrimPrefix(etag, "W/"), "w/")
}

// isStrong reports whether an ETag promises equal bytes. One without quotes is no ETag by
// the grammar (RFC 9110, 8.8.3): it is compared, and promises nothing.
func isStrong(etag string) bool { return strings.HasPrefix(etag, `"`) }
