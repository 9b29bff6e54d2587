package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/filelock"
)

// ErrOther says that the results of a file are of another series: one of the
// settings was not what it is now.
var ErrOther = errors.New("made with other settings")

// File is a file of results that is being added to.
type File[R Result] struct {
	Results []R // those that it holds, oldest first
	f       *os.File
}

// Open opens the file of results at path, to go on with the series of that
// header. A file that is new or empty gets the header; one of another series is
// refused with ErrOther, one of something else with ErrFormat, and one that is
// being added to with filelock.ErrBusy. The beginning of a line whose writing was
// interrupted is cut off.
func Open[H Header, R Result](path string, h H) (*File[R], error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	fi, err := f.Stat()
	if err == nil && fi.Mode().IsRegular() { // /dev/null is nobody's
		err = filelock.Take(f)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("results in %s: %w", path, err), f.Close())
	}
	file := &File[R]{f: f}
	if err := begin(file, h); err != nil {
		return nil, errors.Join(fmt.Errorf("results in %s: %w", path, err), file.Close())
	}
	return file, nil
}

// begin reads what the file holds, or writes its header.
func begin[H Header, R Result](file *File[R], h H) error {
	info, err := file.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return file.write(h)
	}
	old, results, n, err := Read[H, R](file.f)
	if err != nil {
		return err
	}
	if err := same(old.Settings(), h.Settings()); err != nil {
		return err
	}
	file.Results = results
	if err := file.f.Truncate(n); err != nil {
		return err
	}
	_, err = file.f.Seek(n, io.SeekStart)
	return err
}

// same says which settings differ, by their names in the file.
func same(old, now any) error {
	a, err := fields(old)
	if err != nil {
		return err
	}
	b, err := fields(now)
	if err != nil {
		return err
	}
	names := maps.Clone(a)
	maps.Copy(names, b)
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(a[name], b[name]) {
			differ = append(differ, fmt.Sprintf("%s was %s and is now %s", name, said(a[name]), said(b[name])))
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("%w: %s", ErrOther, strings.Join(differ, "; "))
	}
	return nil
}

func fields(v any) (m map[string]json.RawMessage, err error) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// said is a setting for people; fields that are left out when they are empty are
// missing.
func said(v json.RawMessage) string {
	if v == nil {
		return "not set"
	}
	return string(v)
}

// Add keeps a result at once.
func (file *File[R]) Add(r R) error {
	if err := file.write(r); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	file.Results = append(file.Results, r)
	return nil
}

func (file *File[R]) write(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = file.f.Write(append(text, '\n'))
	}
	return err
}

// Close closes the file, which others may add to from now on.
func (file *File[R]) Close() error { return filelock.Close(file.f) }

// Left are the entries of a plan that have no result yet, in order; of says which entry a
// result is of.
func Left[T comparable, R any](plan []T, results []R, of func(R) T) (left []T) {
	done := make(map[T]bool, len(results))
	for _, r := range results {
		done[of(r)] = true
	}
	for _, t := range plan {
		if !done[t] {
			left = append(left, t)
		}
	}
	return left
}
