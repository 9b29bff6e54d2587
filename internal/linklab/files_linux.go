package linklab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/server"
)

// Names of the files that tell a command about the files that are served.
const (
	listName    = "urls.txt"
	listNameTLS = "urls-tls.txt"
)

// servedBytes is for how many bytes the lab's directory should have room: the built-in
// server makes up those of a set of files as they are asked for.
func (l *Lab) servedBytes() int64 {
	switch {
	case l.cfg.Files == nil:
		return l.cfg.Size
	case l.cfg.Server == ServerNginx:
		return l.cfg.Files.Bytes()
	}
	return 0
}

// layOut makes the set of files where the server needs them on a disk, their
// hashes, and the lists of their URLs.
func (l *Lab) layOut() error {
	set, ctx := *l.cfg.Files, context.Background()
	var err error
	if l.cfg.Server == ServerNginx {
		if err = server.WriteFiles(ctx, l.dir, set); err == nil {
			// Beside the files it would be one of them.
			err = os.Rename(filepath.Join(l.dir, server.FilesName, dataset.SumsName), l.sums())
		}
	} else {
		err = writeTo(l.sums(), func(w io.Writer) error { return set.Sums(ctx, w) })
	}
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	err = writeTo(filepath.Join(l.dir, listName), func(w io.Writer) error {
		return set.List(server.URL(serverIPv4, server.FilesName, false), w)
	})
	if l.cfg.TLS {
		err = errors.Join(err, writeTo(filepath.Join(l.dir, listNameTLS), func(w io.Writer) error {
			return set.List(server.URL(serverIPv4, server.FilesName, true), w)
		}))
	}
	if err != nil {
		return fmt.Errorf("files: %w", err)
	}
	return nil
}

// sums is the file of hashes.
func (l *Lab) sums() string { return filepath.Join(l.dir, dataset.SumsName) }

func writeTo(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// filesEnvironment is what a command is told about the files.
func (l *Lab) filesEnvironment() []string {
	env := []string{
		fmt.Sprintf("LINKLAB_SIZE=%d", l.cfg.Files.Bytes()),
		fmt.Sprintf("LINKLAB_FILES=%d", l.cfg.Files.Len()),
		"LINKLAB_LIST=" + filepath.Join(l.dir, listName),
		"LINKLAB_SHA256SUMS=" + l.sums(),
	}
	if l.cfg.TLS {
		env = append(env, "LINKLAB_LIST_TLS="+filepath.Join(l.dir, listNameTLS))
	}
	return env
}
