package store

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Whatever other programs do to NAME.part meanwhile: it never gets the name, is never claimed
// to hold our bytes, and their files are not removed.
func TestPartChangedByOthers(t *testing.T) {
	const size = 300 << 10
	b := testbody.Body{Size: size, Seed: 9}
	id := identity.Identity{Size: size, ETag: `"e"`}
	theirs := testbody.Body{Size: size, Seed: 10}
	to := func(dir string) Target { return Target{Dir: dir} }
	for name, meddle := range map[string]func(t *testing.T, dir string){
		"removed": func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "x.part")))
		},
		"replaced": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "new"), bodyString(t, theirs))
			must(t, os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "x.part")))
		},
		"a link": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "new"), bodyString(t, theirs))
			must(t, os.Remove(filepath.Join(dir, "x.part")))
			must(t, os.Symlink("new", filepath.Join(dir, "x.part")))
		},
		"a directory": func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "x.part")))
			must(t, os.Mkdir(filepath.Join(dir, "x.part"), 0o755))
		},
		"another mlget's": func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "x.part")))
			must(t, os.Remove(filepath.Join(dir, "x.part.json")))
			f := open(t, to(dir), hereURL)
			must(t, f.Begin(id))
			write(t, f, b, ranges(size/2, size)[0])
			must(t, f.Checkpoint(ranges(size/2, size)))
		},
		"emptied": func(t *testing.T, dir string) {
			must(t, os.Truncate(filepath.Join(dir, "x.part"), 0))
		},
		"cut": func(t *testing.T, dir string) {
			must(t, os.Truncate(filepath.Join(dir, "x.part"), 40<<10))
		},
	} {
		for act, end := range map[string]func(f *File) error{
			"checkpoint": func(f *File) error {
				return errors.Join(f.Checkpoint([]scheduler.Range{{End: size / 2}, {Off: size - 8192, End: size}}), f.Close())
			},
			"commit": func(f *File) error {
				_, err := f.Commit(CommitOptions{Size: size})
				return errors.Join(err, f.Close())
			},
			"suspend": func(f *File) error {
				return f.Suspend([]scheduler.Range{{End: size / 2}, {Off: size - 8192, End: size}})
			},
			"reject": func(f *File) error { return errors.Join(f.Reject(), f.Close()) },
		} {
			for _, recorded := range []bool{true, false} {
				t.Run(name+", "+act, func(t *testing.T) {
					if (name == "emptied" || name == "cut") && runtime.GOOS != "linux" {
						t.Skip("holes are not looked for here")
					}
					dir := t.TempDir()
					f := open(t, to(dir), hereURL)
					must(t, f.Begin(id))
					write(t, f, b, ranges(0, size/2)[0])
					if recorded {
						must(t, f.Checkpoint(ranges(0, size/2)))
					}
					meddle(t, dir)
					before := tree(t, dir)
					write(t, f, b, ranges(size/2, size)[0])
					err := end(f)
					if err == nil && act != "reject" {
						t.Fatal("nobody has noticed")
					}
					if _, err := os.Lstat(filepath.Join(dir, "x")); err == nil {
						t.Fatal("there is an x")
					}
					if name != "emptied" && name != "cut" {
						for path, was := range before {
							if name != "another mlget's" && filepath.Base(path) == "x.part.json" {
								continue // ours
							}
							if now, there := tree(t, dir)[path]; !there || now != was {
								t.Errorf("%s was changed or removed: %v", path, there)
							}
						}
					}
					if name == "another mlget's" {
						return // to go on
					}
					f, err = Open(to(dir), parse(t, hereURL))
					must(t, err)
					defer f.Close() //nolint:errcheck // it is, in the end
					_, done, _ := f.Resume()
					must(t, f.Begin(id))
					for _, r := range done {
						got := make([]byte, r.Len())
						_, err := f.ReadAt(got, r.Off)
						must(t, err)
						if string(got) != bodyString(t, b)[r.Off:r.End] {
							t.Errorf("%v is claimed, and not there", r)
						}
					}
				})
			}
		}
	}
}

// The same in a run that goes on with what is there, before its server has answered.
func TestPartChangedByOthersBeforeBegin(t *testing.T) {
	dir := t.TempDir()
	interrupted(t, Target{Dir: dir}, hereURL)
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, os.Remove(filepath.Join(dir, "x.part")))
	must(t, os.Remove(filepath.Join(dir, "x.part.json")))
	other := open(t, Target{Dir: dir}, hereURL)
	must(t, other.Begin(object))
	write(t, other, body, ranges(600, 1000)[0])
	must(t, other.Checkpoint(ranges(600, 1000)))
	before := tree(t, dir)
	if err := f.Begin(object); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	must(t, f.Close())
	if now := tree(t, dir); !maps.Equal(now, before) {
		t.Errorf("there are %q, and were %q", now, before)
	}
}

// tree is what the files in dir hold.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range names(t, dir) {
		path := filepath.Join(dir, name)
		fi, err := os.Lstat(path)
		must(t, err)
		switch {
		case fi.Mode().IsRegular():
			all[path] = content(t, path)
		default:
			all[path] = fi.Mode().String()
		}
	}
	return all
}

// A file that was cut between two runs, and made as long again.
func TestHolesInClaimedRanges(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("holes are not looked for here")
	}
	const size = 300 << 10
	b := testbody.Body{Size: size, Seed: 9}
	for _, hole := range []scheduler.Range{{Off: 0, End: 8192}, {Off: 100 << 10, End: 104 << 10}, {Off: 200 << 10, End: size}} {
		dir := t.TempDir()
		f := open(t, Target{Dir: dir}, hereURL)
		must(t, f.Begin(identity.Identity{Size: size, ETag: `"e"`}))
		write(t, f, b, ranges(0, size)[0])
		must(t, f.Suspend(ranges(0, 80<<10, 96<<10, size)))
		p := filepath.Join(dir, "x.part")
		all := bodyString(t, b)
		must(t, os.Truncate(p, 0))
		w, err := os.OpenFile(p, os.O_WRONLY, 0)
		must(t, err)
		_, err = w.WriteAt([]byte(all[:hole.Off]), 0)
		must(t, err)
		_, err = w.WriteAt([]byte(all[hole.End:]), hole.End)
		must(t, err)
		must(t, w.Truncate(size))
		must(t, w.Close())
		f = open(t, Target{Dir: dir}, hereURL)
		if _, done, ok := f.Resume(); ok || f.Notice() == "" {
			t.Errorf("a hole at %v: %v, %q", hole, done, f.Notice())
		}
		must(t, f.Close())
	}
}

// The inode number of a removed journal may be reused by another mlget's, which must not be
// removed.
func TestReusedInodeNumbers(t *testing.T) {
	const size = 300 << 10
	b := testbody.Body{Size: size, Seed: 9}
	dir := t.TempDir()
	begin := func(half scheduler.Range) *File {
		f := open(t, Target{Dir: dir}, hereURL)
		must(t, f.Begin(identity.Identity{Size: size, ETag: `"e"`}))
		write(t, f, b, half)
		must(t, f.Checkpoint([]scheduler.Range{half}))
		return f
	}
	ours := begin(scheduler.Range{End: size / 2})
	part, journal := filepath.Join(dir, "x.part"), filepath.Join(dir, "x.part.json")
	must(t, os.Remove(part))
	must(t, os.Remove(journal))
	begin(scheduler.Range{Off: size / 2, End: size})
	fi, err := os.Lstat(journal)
	must(t, err)
	ours.written.file = fi // as file systems do now and then; of the same length, by chance
	if err := ours.Checkpoint(ranges(0, size/2)); !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	must(t, ours.Close())
	wantNames(t, dir, "x.part", "x.part.json")
}

// TestForeignNewJournalStays: NAME.part.json.new may be another program's, before or during a
// download. One that a killed run of mlget left is removed.
func TestForeignNewJournalStays(t *testing.T) {
	b := testbody.Body{Size: 3000, Seed: 1}
	for name, to := range map[string]Target{"alone": {}, "of many": {Rerun: true}, "named": {Name: "x", Explicit: true}} {
		for moment, theirs := range []string{"before", "resumed", "begun", "recorded", "suspended"} {
			t.Run(name+", "+theirs, func(t *testing.T) {
				to.Dir = t.TempDir()
				come := func(now int) {
					if now == moment {
						put(t, filepath.Join(to.Dir, "x"+newSuffix), "precious")
					}
				}
				come(0)
				if moment == 1 {
					f := open(t, to, hereURL)
					must(t, f.Begin(identity.Identity{Size: b.Size, ETag: `"e"`}))
					write(t, f, b, scheduler.Range{End: 1000})
					must(t, f.Suspend([]scheduler.Range{{End: 1000}}))
				}
				come(1)
				f := open(t, to, hereURL)
				must(t, f.Begin(identity.Identity{Size: b.Size, ETag: `"e"`}))
				come(2)
				write(t, f, b, scheduler.Range{End: 1000})
				must(t, f.Checkpoint([]scheduler.Range{{End: 1000}}))
				come(3)
				write(t, f, b, scheduler.Range{Off: 1000, End: b.Size})
				must(t, f.Checkpoint([]scheduler.Range{{End: b.Size}}))
				if moment == 4 {
					come(4)
					must(t, f.Suspend([]scheduler.Range{{End: b.Size}}))
					f = open(t, to, hereURL)
					must(t, f.Begin(identity.Identity{Size: b.Size, ETag: `"e"`}))
				}
				path, err := f.Commit(CommitOptions{Size: b.Size})
				must(t, err)
				if content(t, path) != bodyString(t, b) {
					t.Error("other bytes")
				}
				if got := content(t, to.Dir, "x"+newSuffix); got != "precious" {
					t.Errorf("%q", got)
				}
				wantNames(t, to.Dir, "x", "x"+newSuffix)
			})
		}
	}
	dir := t.TempDir()
	for _, left := range []string{"", "\x00\x00", `{"mlget`, `{"mlget_journal":1,"url":"` + "\x00\x00"} {
		put(t, filepath.Join(dir, "x"+newSuffix), left)
		must(t, open(t, Target{Dir: dir, Name: "x", Explicit: true}, hereURL).Close())
		wantNames(t, dir)
	}
}
