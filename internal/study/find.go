package study

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is one that may be a run.
type file struct {
	path, source string
	recorded     bool // a report of a directory, whose record lies beside it
	info         fs.FileInfo
}

// find gives the files that names stand for, each once, by whatever names.
func find(names []string) (files []file, errs []error) {
	bySize := make(map[int64][]int) // what differs in size is not the same file
	add := func(f file) {
		size := f.info.Size()
		for _, i := range bySize[size] {
			if os.SameFile(files[i].info, f.info) {
				files[i].recorded = files[i].recorded && f.recorded
				return
			}
		}
		bySize[size] = append(bySize[size], len(files))
		files = append(files, f)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case !info.IsDir():
			add(file{path: name, source: base(filepath.Dir(name)), info: info})
		default:
			found, err := walk(name)
			if err == nil && len(found) == 0 {
				err = fmt.Errorf("%s: %w", name, ErrNoRuns)
			}
			if err != nil {
				errs = append(errs, err)
			}
			for _, f := range found {
				add(f)
			}
		}
	}
	return files, errs
}

// base is the last part of a directory's full name.
func base(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	return filepath.Base(dir)
}

// walk gives the records and reports of a directory, in the order of their names. Other
// JSON files that lie about there are not taken for broken runs.
func walk(dir string) (files []file, err error) {
	root, err := filepath.EvalSymlinks(dir) // WalkDir does not follow a link
	if err != nil {
		root = dir // Windows knows links that cannot be resolved
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f := file{path: filepath.Join(dir, below), source: base(dir)}
		switch ext := filepath.Ext(path); ext {
		case ".jsonl":
		case ".json":
			if !isReport(path) {
				return nil
			}
			_, err := os.Stat(strings.TrimSuffix(path, ext) + ".jsonl")
			f.recorded = err == nil
		default:
			return nil
		}
		// Not d.Info(): some file systems tell no number of a file in a listing on Windows, and
		// wine does not, by which os.SameFile takes all for one.
		if f.info, err = os.Lstat(path); err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// isReport says whether a file begins as a report does.
func isReport(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	begin := make([]byte, 200)
	n, _ := io.ReadFull(f, begin) // less than that is no report
	text := bytes.Join(bytes.Fields(begin[:n]), nil)
	return bytes.HasPrefix(text, []byte(`{"schema":`)) && bytes.Contains(text, []byte(`"version":`))
}

// Among says whether a file is one of those that names stand for.
func Among(names []string, of fs.FileInfo) bool {
	files, _ := find(names)
	return slices.ContainsFunc(files, func(f file) bool { return os.SameFile(f.info, of) })
}
