package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab"
)

// served is a set of files on disk, which all labs of a session serve.
type served struct {
	set    dataset.Set
	dir    string            // with the files alone
	sums   map[string]string // by name: SHA-256 in hexadecimal
	remove func() error      // removes the directory
}

// serve makes a set of files, or takes that which is there.
func (r *labRunner) serve(ctx context.Context, name string) (*served, error) {
	if s := r.sets[name]; s != nil {
		return s, nil
	}
	set, err := dataset.Parse(name)
	if err != nil {
		return nil, err
	}
	s := &served{set: set, sums: map[string]string{}}
	if s.dir, s.remove, err = linklab.Scratch(set.Bytes()); err != nil {
		return nil, err
	}
	if r.sets == nil {
		r.sets = map[string]*served{}
	}
	r.sets[name] = s // from here on it is removed in the end
	if err := set.Write(ctx, s.dir); err != nil {
		return nil, err
	}
	// Beside the files it would be one of them.
	sums := filepath.Join(s.dir, dataset.SumsName)
	if err := s.readSums(sums); err != nil {
		return nil, err
	}
	return s, os.Remove(sums)
}

func (s *served) readSums(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if sum, file, ok := strings.Cut(lines.Text(), "  "); ok {
			s.sums[file] = sum
		}
	}
	return lines.Err()
}

// ask writes the lists that a tool may be given, and returns the first one's
// name: an URL a line, and the same as curl reads it.
func (s *served) ask(base, dir string) (list string, err error) {
	var plain, curl strings.Builder
	if err := s.set.List(base, &plain); err != nil {
		return "", err
	}
	for url := range strings.Lines(plain.String()) {
		fmt.Fprintf(&curl, "url = %q\n", strings.TrimSpace(url))
	}
	list = filepath.Join(dir, "urls.txt")
	err = os.WriteFile(list, []byte(plain.String()), 0o644)
	return list, errors.Join(err, os.WriteFile(filepath.Join(dir, curlList), []byte(curl.String()), 0o644))
}

// check says what is wrong with the files in a directory; empty: nothing.
func (s *served) check(dir string) (string, error) {
	missing, wrong := 0, 0
	for name, want := range s.sums {
		switch sum, err := linklab.HashFile(filepath.Join(dir, name)); {
		case errors.Is(err, os.ErrNotExist):
			missing++
		case err != nil:
			return "", err
		case sum != want:
			wrong++
		}
	}
	if missing+wrong == 0 {
		return "", nil
	}
	return fmt.Sprintf("of %d files %d missing, %d wrong", len(s.sums), missing, wrong), nil
}

// remove removes the sets.
func (r *labRunner) remove() error {
	var errs []error
	for _, s := range r.sets {
		errs = append(errs, s.remove())
	}
	r.sets = nil
	return errors.Join(errs...)
}
