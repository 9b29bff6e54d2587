package fetch

import (
	"mime"
	"net/http"
)

// proposedName is the file name in a Content-Disposition (RFC 6266), decoded, and
// otherwise as the server wrote it: paths, control characters and all. It is empty
// if there is none, or more than one of them, or if it is not understood.
func proposedName(h http.Header) string {
	line := validator(h, "Content-Disposition")
	if line == "" {
		return ""
	}
	_, params, err := mime.ParseMediaType(line)
	if err != nil {
		return ""
	}
	return params["filename"] // filename* went before it, if both are there
}
