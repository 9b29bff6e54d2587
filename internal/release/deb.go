// Package release makes what is handed out of what was built: packages for
// Termux. The same input gives the same bytes, wherever and whenever.
//
// Contract: pure functions; nothing is shared.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// prefix is where Termux has its tree; its packages hold it in full.
const prefix = "data/data/com.termux/files/usr"

// ErrPackage says that a package cannot be made of what was given.
var ErrPackage = errors.New("no package can be made")

// Deb is a package for Termux's dpkg.
type Deb struct {
	Version string // digits and dots
	Arch    string // aarch64 or arm, as Termux has them
	Binary  []byte // of mlget
	License []byte
	Time    time.Time // of all files; the zero value is 1970
}

// file is one file of a package.
type file struct {
	name string // without a leading slash
	mode int64
	body []byte
}

// Write writes the package: an ar(5) archive of three members (deb(5)).
// Errors wrap ErrPackage where the input is at fault.
func (d Deb) Write(w io.Writer) error {
	if d.Version == "" || strings.Trim(d.Version, "0123456789.~+abcdefghijklmnopqrstuvwxyz-") != "" {
		return fmt.Errorf("%w: %q is no version", ErrPackage, d.Version)
	}
	if err := CheckBinary(bytes.NewReader(d.Binary), d.Arch); err != nil {
		return err
	}
	if d.Time.IsZero() {
		d.Time = time.Unix(0, 0)
	}
	files := []file{
		{prefix + "/bin/mlget", 0o755, d.Binary},
		{prefix + "/share/doc/mlget/copyright", 0o644, d.License},
	}
	control, err := d.tarball([]file{{"control", 0o644, []byte(d.control())}})
	if err != nil {
		return err
	}
	data, err := d.tarball(files)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, m := range []file{
		{"debian-binary", 0o100644, []byte("2.0\n")}, {"control.tar.gz", 0o100644, control}, {"data.tar.gz", 0o100644, data},
	} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", m.name, d.Time.Unix(), 0, 0, m.mode, len(m.body))
		b.Write(m.body)
		if len(m.body)%2 != 0 {
			b.WriteByte('\n')
		}
	}
	_, err = w.Write(b.Bytes())
	return err
}

// control is the package's description (deb-control(5)).
func (d Deb) control() string {
	return fmt.Sprintf(`Package: mlget
Version: %s
Architecture: %s
Maintainer: the mlget authors
Installed-Size: %d
Section: net
Priority: optional
Homepage: https://github.com/mlget/mlget
Description: download over several network links at once
 mlget downloads one file over Wi-Fi and cellular at once, so that both finish
 at the same moment, and continues by itself what was interrupted.
%s`, d.Version, d.Arch, (len(d.Binary)+len(d.License)+1023)/1024, d.where())
}

// where says where the program cannot run. Google Play's Termux has its programs
// started by the system's loader, which takes position-independent ones only.
func (d Deb) where() string {
	if d.Arch != "arm" {
		return ""
	}
	return " .\n This program is static: it runs in the Termux of F-Droid and GitHub, and not in\n that of Google Play.\n"
}

// tarball packs files and the folders above them, whose names begin with "./".
func (d Deb) tarball(files []file) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	done := make(map[string]bool)
	add := func(h tar.Header, body []byte) error {
		h.ModTime, h.Uname, h.Gname, h.Format = d.Time, "root", "root", tar.FormatUSTAR
		h.Size = int64(len(body))
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		_, err := t.Write(body)
		return err
	}
	for _, f := range files {
		for _, dir := range above(f.name) {
			if done[dir] {
				continue
			}
			done[dir] = true
			if err := add(tar.Header{Typeflag: tar.TypeDir, Name: "./" + dir, Mode: 0o755}, nil); err != nil {
				return nil, err
			}
		}
		if err := add(tar.Header{Typeflag: tar.TypeReg, Name: "./" + f.name, Mode: f.mode}, f.body); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// above are the folders of a file, the outermost first, with a slash each; the
// first one is the root, "".
func above(name string) []string {
	dirs := []string{""}
	at := ""
	for _, part := range strings.Split(path.Dir(name), "/") {
		if part == "." {
			continue
		}
		at += part + "/"
		dirs = append(dirs, at)
	}
	return dirs
}
