package dataset

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Modified is the time of last change of every file, the same in every run.
func Modified() time.Time { return time.Date(2017, time.June, 1, 12, 0, 0, 0, time.UTC) }

// SumsName is the name of the file of hashes that Write makes.
const SumsName = "SHA256SUMS"

// Sums writes a line for each file, as sha256sum does, without the files being
// anywhere. It ends early with ctx.
func (s Set) Sums(ctx context.Context, w io.Writer) error {
	return s.each(ctx, w, func(File) (io.WriteCloser, error) { return nil, nil })
}

// Write makes the files in dir, which must exist, and beside them their hashes
// in SHA256SUMS. A file that is there is written anew, but for somebody else's
// SHA256SUMS. It ends early with ctx.
func (s Set) Write(ctx context.Context, dir string) error {
	if err := CheckOurs(filepath.Join(dir, SumsName)); err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	sums, err := os.Create(filepath.Join(dir, SumsName))
	if err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	err = s.each(ctx, sums, func(f File) (io.WriteCloser, error) {
		return os.Create(filepath.Join(dir, f.Name))
	})
	if err2 := sums.Close(); err == nil {
		err = err2
	}
	for i := range s.Len() {
		if err == nil {
			err = os.Chtimes(filepath.Join(dir, s.File(i).Name), Modified(), Modified())
		}
	}
	if err != nil {
		return fmt.Errorf("dataset: %w", err)
	}
	return nil
}

// ErrForeign says that a file is somebody else's.
var ErrForeign = errors.New("it would be replaced, and is no dataset's")

// CheckOurs fails if a file of hashes or URLs is there and was not made for a set, of
// which its first line names a file.
func CheckOurs(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	line, err := bufio.NewReader(io.LimitReader(f, 1<<12)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line = strings.TrimSpace(line)
	first := line[strings.LastIndexAny(line, " /")+1:]
	if line != "" && !slices.ContainsFunc(Kinds(), func(k Kind) bool { return first == k.file(0).Name }) {
		return fmt.Errorf("%s: %w", name, ErrForeign)
	}
	return nil
}

// each hashes every file, and copies it to what open gives back, if anything.
func (s Set) each(ctx context.Context, sums io.Writer, open func(File) (io.WriteCloser, error)) error {
	buf := make([]byte, 1<<18)
	lines := bufio.NewWriter(sums)
	for i := range s.Len() {
		f := s.File(i)
		h := sha256.New()
		to := io.Writer(h)
		out, err := open(f)
		if err != nil {
			return err
		}
		if out != nil {
			to = io.MultiWriter(h, out)
		}
		_, err = io.CopyBuffer(to, struct{ io.Reader }{untilDone{ctx, f.Body.Reader()}}, buf)
		if out != nil {
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(lines, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), f.Name); err != nil {
			return err
		}
	}
	return lines.Flush()
}

// untilDone reads until a context ends.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// List writes the files' URLs, one a line; base is the directory's, with or
// without the slash at its end.
func (s Set) List(base string, w io.Writer) error {
	base = strings.TrimSuffix(base, "/") + "/"
	lines := bufio.NewWriter(w)
	for i := range s.Len() {
		if _, err := lines.WriteString(base + s.File(i).Name + "\n"); err != nil {
			return err
		}
	}
	return lines.Flush()
}
