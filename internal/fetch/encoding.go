package fetch

import (
	"net/http"
	"path"
	"slices"
	"strings"
)

// encodingOf is the content coding that a response bears though we asked for none:
// what its server has stored, or makes whatever it is asked; "" for none. It is in
// lower case, and short enough to be kept and shown. Nothing is ever decoded.
func encodingOf(h http.Header) string {
	const most = 64
	var codings []string
	for _, line := range h.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			switch coding = strings.ToLower(strings.TrimSpace(coding)); coding {
			case "", "identity":
			default: // x-gzip and x-compress are old names (RFC 9110, 8.4.1)
				codings = append(codings, strings.TrimPrefix(coding, "x-"))
			}
		}
	}
	all := strings.Join(codings, ", ")
	return strings.ToValidUTF8(all[:min(len(all), most)], "?")
}

// Evident says whether a name's ending shows o's encoding: a .gz file is compressed whatever
// its server calls that.
func (o Object) Evident(name string) bool {
	return slices.Contains(endings(o.Encoding), strings.ToLower(path.Ext(name)))
}

// endings are those of names of what is encoded so.
func endings(encoding string) []string {
	switch encoding {
	case "gzip":
		return []string{".gz", ".tgz", ".svgz"}
	case "compress":
		return []string{".z", ".taz"}
	case "br":
		return []string{".br"}
	case "zstd":
		return []string{".zst", ".tzst"}
	case "bzip2":
		return []string{".bz2", ".tbz", ".tbz2"}
	case "xz":
		return []string{".xz", ".txz"}
	}
	return nil
}
