package hostile

import (
	"strconv"
	"strings"
)

// Ways to an object.
const (
	direct   = "/"          // the object itself
	redirect = "/redirect/" // leads there
	expiring = "/expiring/" // leads to a signed URL of it
	signed   = "/signed/"
	loop     = "/loop/"
	ofEdge   = "/edge/"        // the query is the client's address
	portal   = "/portal/login" // no object
)

// suffix is that of objects' names.
const suffix = ".bin"

// Name is what the n-th object is called, as its URL's last element.
func Name(n int) string { return strconv.Itoa(n) + suffix }

// Path is the n-th object's.
func Path(n int) string { return direct + Name(n) }

// RedirectPath leads to the n-th object.
func RedirectPath(n int) string { return redirect + Name(n) }

// ExpiringPath leads to a signed URL of the n-th object.
func ExpiringPath(n int) string { return expiring + Name(n) }

// parsePath takes a path apart.
func parsePath(path string) (way string, n int, ok bool) {
	way = direct
	for _, w := range []string{redirect, expiring, signed, loop, ofEdge} {
		if strings.HasPrefix(path, w) {
			way = w
		}
	}
	name, ok := strings.CutSuffix(strings.TrimPrefix(path, way), suffix)
	if !ok {
		return way, 0, false
	}
	n, err := strconv.Atoi(name)
	return way, n, err == nil && n >= 0
}
