package server

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlget/mlget/internal/dataset"
)

// FilesName is the directory of a set of files, in its URL and, for a server
// that has them on a disk, below its own directory.
const FilesName = "files"

// WriteFiles makes the set on disk for a server whose directory is dir.
func WriteFiles(ctx context.Context, dir string, s dataset.Set) error {
	full := filepath.Join(dir, FilesName)
	if err := os.Mkdir(full, 0o755); err != nil {
		return fmt.Errorf("files: %w", err)
	}
	return s.Write(ctx, full)
}

// serveFiles serves a file of the set from its formula, and the directory's
// index.
func (h handler) serveFiles(w http.ResponseWriter, r *http.Request, name string) {
	name, ok := strings.CutPrefix(name, "/"+FilesName)
	if !ok {
		http.NotFound(w, r)
		return
	}
	if name == "" {
		if !strings.HasSuffix(r.URL.Path, "/") {
			http.Redirect(w, r, "/"+FilesName+"/", http.StatusMovedPermanently)
			return
		}
		h.index(w)
		return
	}
	f, ok := h.c.Files.Find(strings.TrimPrefix(name, "/"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Etag", fmt.Sprintf(`"%x-%x"`, f.Body.Seed, f.Body.Size))
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, f.Name, dataset.Modified(), f.Body.Reader())
}

// index lists the set's files with their exact sizes, in the form of nginx's
// autoindex.
func (h handler) index(w http.ResponseWriter) {
	var b strings.Builder
	title := html.EscapeString("Index of /" + FilesName + "/")
	fmt.Fprintf(&b, "<html>\n<head><title>%s</title></head>\n<body>\n<h1>%s</h1><hr><pre><a href=\"../\">../</a>\n", title, title)
	changed := dataset.Modified().Format("02-Jan-2006 15:04")
	for i := range h.c.Files.Len() {
		f := h.c.Files.File(i)
		link := fmt.Sprintf("<a href=\"%s\">%s</a>", f.Name, f.Name)
		fmt.Fprintf(&b, "%-70s %s %19d\n", link, changed, f.Body.Size)
	}
	b.WriteString("</pre><hr></body>\n</html>\n")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // the client has gone
}
