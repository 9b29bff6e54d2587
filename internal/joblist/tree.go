package joblist

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Bounds are those of a Tree.
type Bounds struct {
	Depth       int // directories below the first one
	Directories int
	Files       int
	Bytes       int // of the URLs of all links, each of which repeats that of its page
}

// DefaultBounds are beyond what people keep on web servers, and end what has no
// end, as a directory that contains itself.
func DefaultBounds() Bounds {
	return Bounds{Depth: 32, Directories: 20_000, Files: 1_000_000, Bytes: 256 << 20}
}

// maxPath bounds the path of a URL, in bytes: web servers take none that are longer.
const maxPath = 8 << 10

// Errors of a Tree.
var (
	// ErrBounds: the tree is larger than its Bounds. What was found before counts.
	ErrBounds = errors.New("the directory is too large")
	// ErrElsewhere: the server sent the request to another place than the one that
	// was asked for.
	ErrElsewhere = errors.New("it leads out of the directory")
)

// Found is a file or a directory of a Tree.
type Found struct {
	URL  string
	Dir  string // where it is below the tree's root, decoded, slash-separated; "": in it
	Size int64  // of a file, as Link's
}

// Tree is a directory of a web server, and all below it: one scheme, host and
// port, and one path that all others begin with. A link that leads elsewhere is no
// part of it; neither is one with a query, by which servers offer other orders of
// the same page.
type Tree struct {
	root     *url.URL
	below    []string // the elements of the root's path
	bounds   Bounds
	filter   *Filter
	unwanted int // files and directories that the filter left out
	dirs     int
	files    int
	bytes    int
	seen     map[uint64]struct{} // hashes of all that was found
}

// NewTree makes a tree of the directory that start leads to, or is in. asked is
// the URL to which start, after redirects, was the answer: it may have moved to
// https, where both ports are the schemes' own, or deeper, and no further.
//
// filter says what of the tree is wanted; nil: all of it.
func NewTree(asked, start *url.URL, bounds Bounds, filter *Filter) (*Tree, error) {
	host := strings.ToLower(asked.Hostname())
	secured := origin(asked) == "http://"+host+":80" && origin(start) == "https://"+host+":443"
	if !secured && origin(asked) != origin(start) {
		return nil, fmt.Errorf("%w: to %s", ErrElsewhere, origin(start))
	}
	path, ok := elements(start.EscapedPath())
	if !ok {
		return nil, fmt.Errorf("%w: its path is no directory's", ErrElsewhere)
	}
	if !within(asked, path) {
		return nil, fmt.Errorf("%w: to %.200s", ErrElsewhere, start.EscapedPath())
	}
	root := *start
	root.User = nil
	if !secured { // else they are not meant for this port
		root.User = asked.User
	}
	t := &Tree{root: &root, below: path[:len(path)-1], bounds: bounds, filter: filter, seen: make(map[uint64]struct{})}
	t.seen[hash("")] = struct{}{} // the root itself
	return t, nil
}

// within says whether path is that of asked, or below it. A directory may be asked for
// without its slash, and by the name of its index.
func within(asked *url.URL, path []string) bool {
	above, ok := elements(asked.JoinPath().EscapedPath()) // without dots
	if !ok || slices.Equal(path, above) {
		return ok
	}
	if last := above[len(above)-1]; last == "" || strings.HasPrefix(last, "index.") {
		above = above[:len(above)-1]
	}
	return len(path) > len(above) && slices.Equal(path[:len(above)], above)
}

// Page gives the files and directories that page, the index at, names and nobody
// has named before, in its order. With ErrBounds come those within the bounds.
func (t *Tree) Page(at *url.URL, page []byte) (files, dirs []Found, err error) {
	if _, ok := t.locate(at); !ok {
		return nil, nil, ErrElsewhere
	}
	base := len(at.EscapedPath())
	if base > maxPath {
		return nil, nil, tooLong(base)
	}
	var odd error
	room := t.bounds.Files - t.files + t.bounds.Directories - t.dirs
	for _, link := range Links(page, 2*room+1000) { // each may stand there twice
		if t.bytes += base + len(link.Href); t.bytes > t.bounds.Bytes {
			return files, dirs, fmt.Errorf("%w: more than %d bytes of URLs", ErrBounds, t.bounds.Bytes)
		}
		u, err := at.Parse(escape(link.Href))
		if err != nil || u.RawQuery != "" || u.ForceQuery || u.Opaque != "" {
			continue
		}
		path, ok := t.locate(u)
		if !ok {
			continue
		}
		if n := len(u.EscapedPath()); n > maxPath {
			odd = tooLong(n) // and goes on
			continue
		}
		key := hash(strings.Join(path, "\x00"))
		if _, known := t.seen[key]; known {
			continue
		}
		t.seen[key] = struct{}{}
		u.User, u.Fragment, u.RawFragment = t.root.User, "", ""
		where, name := path[:len(path)-1], path[len(path)-1]
		found := Found{URL: u.String(), Dir: t.filter.directory(t.below, where), Size: link.Size}
		switch {
		case !t.filter.wants(u, len(where), name):
			t.unwanted++
		case name != "" && t.files == t.bounds.Files:
			return files, dirs, fmt.Errorf("%w: more than %d files", ErrBounds, t.files)
		case name != "":
			t.files++
			files = append(files, found)
		case len(where) > t.bounds.Depth:
			odd = fmt.Errorf("%w: %d directories deep", ErrBounds, len(where)) // and goes on
		case t.dirs == t.bounds.Directories:
			return files, dirs, fmt.Errorf("%w: more than %d directories", ErrBounds, t.dirs)
		default:
			t.dirs++
			dirs = append(dirs, found)
		}
	}
	return files, dirs, odd
}

// Enter says whether the page at, which a file turned out to lead to, is that of a directory
// of the tree that is wanted and that nobody has named before.
func (t *Tree) Enter(at *url.URL) (bool, error) {
	path, ok := t.locate(at)
	if !ok {
		return false, ErrElsewhere
	}
	key := hash(strings.Join(path, "\x00"))
	_, known := t.seen[key]
	depth := len(path) - 1
	switch {
	case known || path[depth] != "":
		return false, nil
	case !t.filter.wants(at, depth, ""):
		t.unwanted++
		return false, nil
	case depth > t.bounds.Depth:
		return false, fmt.Errorf("%w: %d directories deep", ErrBounds, depth)
	case t.dirs == t.bounds.Directories:
		return false, fmt.Errorf("%w: more than %d directories", ErrBounds, t.dirs)
	}
	t.seen[key] = struct{}{}
	t.dirs++
	return true, nil
}

// escape percent-encodes what cannot stand in a URL, and nothing else: net/url, which meets
// such a byte, encodes brackets and the like as well, and some servers know them as they were
// written only.
func escape(href string) string {
	bad := func(c byte) bool { return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 }
	var b strings.Builder
	for i := range len(href) {
		if bad(href[i]) {
			fmt.Fprintf(&b, "%%%02X", href[i])
			continue
		}
		b.WriteByte(href[i])
	}
	return b.String()
}

// Unwanted is how many files and directories the filter has left out.
func (t *Tree) Unwanted() int { return t.unwanted }

func tooLong(path int) error { return fmt.Errorf("%w: a path of %d bytes", ErrBounds, path) }

// locate gives the elements of u's path below the root; the last one is the name of
// a file, or "" for a directory. ok is false where u leads out.
func (t *Tree) locate(u *url.URL) (path []string, ok bool) {
	if origin(u) != origin(t.root) {
		return nil, false
	}
	path, ok = elements(u.EscapedPath())
	if !ok || len(path) <= len(t.below) || !slices.Equal(path[:len(t.below)], t.below) {
		return nil, false
	}
	return path[len(t.below):], true
}

// directory is a path of directories. What is one element to a server is one
// here, too.
func directory(path []string) string {
	clean := make([]string, len(path))
	for i, e := range path {
		clean[i] = strings.ReplaceAll(e, "/", "_")
	}
	return strings.Join(clean, "/")
}

// elements are those of an escaped path, decoded; the last one is empty if it ends
// in a slash. ok is false for what a server, or a file system, may take for a way
// up or for nothing.
func elements(escaped string) (path []string, ok bool) {
	rest, absolute := strings.CutPrefix(escaped, "/")
	if !absolute && escaped != "" {
		return nil, false
	}
	path = strings.Split(rest, "/")
	for i, e := range path {
		plain, err := url.PathUnescape(e)
		if err != nil || plain == "" && i < len(path)-1 {
			return nil, false
		}
		for part := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == "." || part == ".." {
				return nil, false
			}
		}
		path[i] = plain
	}
	return path, true
}

// origin is u's scheme, host and port.
func origin(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
