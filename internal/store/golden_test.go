package store

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/identity"
)

// TestJournalsOfVersion1 were written, with x.part (now x.bytes), by mlget as it was before the first release:
// of hereURL, with [0,400) and [600,700) of the body done. Whatever a later version makes of its
// journals, these say what they said, or are refused with a notice; they are never misread.
func TestJournalsOfVersion1(t *testing.T) {
	const date = "Thu, 29 Feb 2024 12:00:00 GMT"
	from := filepath.Join("testdata", "journal-1")
	want := map[string]identity.Identity{
		"etag": {Size: 1000, ETag: `"v1"`}, "date": {Size: 1000, LastModified: date},
		"etag-date": {Size: 1000, ETag: `"v1"`, LastModified: date}, "weak": {Size: 1000, ETag: `W/"v1"`},
		"none": {Size: 1000}, "unsized": {Size: -1, ETag: `"v1"`}, "encoded": {Size: 1000, ETag: `"v1"`, Encoding: "zstd"},
		"adopted": {Size: 1000, ETag: `"<v&1>"`},
	}
	files, err := filepath.Glob(filepath.Join(from, "*.json"))
	must(t, err)
	if len(files) != len(want) {
		t.Fatalf("there are %q", files)
	}
	laid := func(t *testing.T, name string) (dir string) {
		dir = t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "x.part"), []byte(content(t, from, "x.bytes")), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "x.part.json"), []byte(content(t, from, name+".json")), 0o600))
		return dir
	}
	for name, id := range want {
		t.Run(name, func(t *testing.T) {
			dir := laid(t, name)
			f := open(t, Target{Dir: dir}, hereURL)
			got, done, ok := f.Resume()
			if !ok && f.Notice() == "" {
				t.Fatal("refused without a word")
			}
			if ok && (!reflect.DeepEqual(got, id) || !slices.Equal(done, ranges(0, 400, 600, 700))) {
				t.Fatalf("%+v of %+v", done, got)
			}
			must(t, f.Begin(id))
			write(t, f, body, ranges(400, 600)[0])
			write(t, f, body, ranges(700, 1000)[0])
			if !ok {
				write(t, f, body, ranges(0, 400)[0])
				write(t, f, body, ranges(600, 700)[0])
			}
			path, err := f.Commit(CommitOptions{Size: 1000})
			must(t, err)
			wantNames(t, dir, "x")
			if content(t, path) != bodyString(t, body) {
				t.Error("wrong bytes")
			}
			// Of another URL it is nothing to go on with, and stays.
			dir = laid(t, name)
			f = open(t, Target{Dir: dir}, otherURL)
			if _, done, ok := f.Resume(); ok || f.Name() != filepath.Join(dir, "x.1") {
				t.Errorf("%s goes on with %v", f.Name(), done)
			}
			must(t, f.Close())
			wantNames(t, dir, "x.part", "x.part.json")
		})
	}
	// A later version's journal may mean something else, even if its fields have the same names.
	for _, version := range []int{2, 10} {
		dir := laid(t, "etag")
		path := filepath.Join(dir, "x.part.json")
		put(t, path, strings.Replace(content(t, path), `{"mlget_journal":1,`, fmt.Sprintf(`{"mlget_journal":%d,`, version), 1))
		f := open(t, Target{Dir: dir}, hereURL)
		if _, done, ok := f.Resume(); ok || !strings.Contains(f.Notice(), "another version") {
			t.Errorf("version %d: %v, %q", version, done, f.Notice())
		}
		must(t, f.Close())
	}
}
