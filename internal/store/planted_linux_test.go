package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	stranger = 1234 // a user id that does not run these tests
	umask    = 0o022
)

// asRoot skips a test that has to give files to another user.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	old := unix.Umask(umask)
	t.Cleanup(func() { unix.Umask(old) })
}

// stat is what the system says of a file, links not followed.
func stat(t testing.TB, path string) unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	return st
}

// TestPlantedPartIsNotUsed: another user has put a part into the directory, to be able to write
// to the file when it is complete.
func TestPlantedPartIsNotUsed(t *testing.T) {
	asRoot(t)
	give := func(t *testing.T, path string) { t.Helper(); must(t, os.Lchown(path, stranger, stranger)) }
	for what, plant := range map[string]func(t *testing.T, dir string){
		"an empty part": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "x.part"), "")
			give(t, filepath.Join(dir, "x.part"))
		},
		"a part with a journal": func(t *testing.T, dir string) {
			interrupted(t, Target{Dir: dir}, hereURL)
			give(t, filepath.Join(dir, "x.part"))
			give(t, filepath.Join(dir, "x.part.json"))
		},
		"a part, with a journal of ours": func(t *testing.T, dir string) {
			interrupted(t, Target{Dir: dir}, hereURL)
			give(t, filepath.Join(dir, "x.part"))
		},
		"a journal, of a part of ours": func(t *testing.T, dir string) {
			interrupted(t, Target{Dir: dir}, hereURL)
			give(t, filepath.Join(dir, "x.part.json"))
		},
		"a journal": func(t *testing.T, dir string) {
			interrupted(t, Target{Dir: dir}, hereURL)
			must(t, os.Remove(filepath.Join(dir, "x.part")))
			give(t, filepath.Join(dir, "x.part.json"))
		},
		"a file of ours": func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, "precious"), "")
			must(t, os.Link(filepath.Join(dir, "precious"), filepath.Join(dir, "x.part")))
		},
		"a journal of ours": func(t *testing.T, dir string) {
			interrupted(t, Target{Dir: dir}, hereURL)
			must(t, os.Link(filepath.Join(dir, "x.part.json"), filepath.Join(dir, "precious")))
		},
		"a locked part": func(t *testing.T, dir string) {
			path := filepath.Join(dir, "x.part")
			put(t, path, "")
			give(t, path)
			w, err := os.Open(path)
			must(t, err)
			must(t, unix.Flock(int(w.Fd()), unix.LOCK_EX))
			t.Cleanup(func() { _ = w.Close() })
		},
	} {
		for kind, to := range map[string]Target{
			"plain": {}, "named": {Name: "x", Explicit: true}, "continued": {Continue: true},
			"of many": {Rerun: true}, "of many, continued": {Rerun: true, Continue: true},
		} {
			t.Run(what+", "+kind, func(t *testing.T) {
				dir := t.TempDir()
				plant(t, dir)
				before, inodes := tree(t, dir), map[uint64]bool{}
				for path := range before {
					inodes[stat(t, path).Ino] = true
				}
				to.Dir = dir
				f, err := Open(to, parse(t, hereURL))
				if err != nil && (to.Explicit || to.Continue) {
					if !errors.Is(err, ErrForeign) {
						t.Fatal(err)
					}
					if now := tree(t, dir); len(now) != len(before) {
						t.Errorf("there are %q, and were %q", now, before)
					}
					return
				}
				must(t, err)
				if !strings.Contains(f.Notice(), "is left alone") {
					t.Errorf("notice %q", f.Notice())
				}
				must(t, f.Begin(object))
				write(t, f, body, ranges(0, 1000)[0])
				must(t, f.Checkpoint(ranges(0, 1000)))
				name, err := f.Commit(CommitOptions{Size: 1000})
				must(t, err)
				st := stat(t, name)
				if inodes[st.Ino] || st.Uid != 0 || st.Nlink != 1 || content(t, name) != bodyString(t, body) {
					t.Errorf("%s is of user %d, has %d names: %v", name, st.Uid, st.Nlink, inodes)
				}
				for path, was := range before {
					if content(t, path) != was {
						t.Errorf("%s was changed", path)
					}
				}
				if now := names(t, dir); len(now) != len(before)+1 {
					t.Errorf("there are %q", now)
				}
			})
		}
	}
}

// TestContinueRefusesAnothersFile: NAME would become a file that another user may write to, or
// that has a second name. A complete one may have any number of names.
func TestContinueRefusesAnothersFile(t *testing.T) {
	asRoot(t)
	for name, size := range map[string]int{"half": 300, "whole": 1000} {
		dir, to := theirs(t, size)
		must(t, os.Chown(filepath.Join(dir, "x"), stranger, stranger))
		if _, err := Open(to, parse(t, hereURL)); !errors.Is(err, errOthers) {
			t.Errorf("%s: %v", name, err)
		}
		wantNames(t, dir, "x")

		dir, to = theirs(t, size)
		must(t, os.Link(filepath.Join(dir, "x"), filepath.Join(dir, "y")))
		f := open(t, to, hereURL)
		if err := f.Begin(object); (err == nil) != (size == 1000) || err != nil && !errors.Is(err, errLinked) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, f.Close())
		wantNames(t, dir, "x", "y")
	}
}

// TestOwnerThatTheFileSystemGives: FAT, the storage of phones and NFS for root give a new file
// another owner than its creator. A file with that owner is ours.
func TestOwnerThatTheFileSystemGives(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o777))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := unix.SetfsuidRetUid(stranger) // of this thread's files; the process stays root's
	must(t, err)
	defer unix.SetfsuidRetUid(0) //nolint:errcheck // it has the right to
	interrupted(t, Target{Dir: dir}, hereURL)
	if st := stat(t, filepath.Join(dir, "x.part")); st.Uid != stranger {
		t.Fatalf("it belongs to %d", st.Uid)
	}
	f := open(t, Target{Dir: dir}, hereURL)
	if _, done, _ := f.Resume(); len(done) == 0 || f.Notice() != "" {
		t.Errorf("%v, %q", done, f.Notice())
	}
	must(t, f.Close())
	wantNames(t, dir, "x.part", "x.part.json")
}

// TestPartIsForItsOwnerAlone: neither the bytes of an unfinished file nor its journal are there for
// others to open. When it is complete it has the mode that any new file gets.
func TestPartIsForItsOwnerAlone(t *testing.T) {
	asRoot(t)
	mode := func(path string) fs.FileMode { return fs.FileMode(stat(t, path).Mode & 0o777) }
	for name, to := range map[string]Target{"plain": {}, "named": {Name: "x", Explicit: true}, "of many": {Rerun: true}} {
		for _, mask := range []int{0o022, 0o002, 0, 0o077} {
			dir := t.TempDir()
			to.Dir = dir
			unix.Umask(mask)
			interrupted(t, to, hereURL)
			for _, suffix := range []string{partSuffix, journalSuffix} {
				if m := mode(filepath.Join(dir, "x"+suffix)); m != 0o600 {
					t.Errorf("%s, umask %o: x%s has mode %o", name, mask, suffix, m)
				}
			}
			f := open(t, to, hereURL)
			must(t, f.Begin(object))
			write(t, f, body, ranges(400, 1000)[0])
			path, err := f.Commit(CommitOptions{Size: 1000})
			must(t, err)
			if m, want := mode(path), fs.FileMode(0o666&^mask); m != want {
				t.Errorf("%s, umask %o: mode %o", name, mask, m)
			}
			wantNames(t, dir, "x")
		}
	}
	unix.Umask(umask)
	for whose, want := range map[int]fs.FileMode{0: 0o666, stranger: 0o644} {
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		put(t, path, "old")
		must(t, os.Chmod(path, 0o666))
		must(t, os.Chown(path, whose, whose))
		f := open(t, Target{Dir: dir, Name: "x", Explicit: true}, hereURL)
		must(t, f.Begin(object))
		write(t, f, body, ranges(0, 1000)[0])
		_, err := f.Commit(CommitOptions{Size: 1000})
		must(t, err)
		if m := mode(path); m != want {
			t.Errorf("in the place of one of %d's: mode %o", whose, m)
		}
	}
}

// TestDirectoryOfADefaultACL: the mode of a new file is not for the umask alone to say.
func TestModeOfADefaultACL(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	// POSIX ACL, version 2: user::rw-, group::r--, mask::r--, other::---. See acl(5).
	acl := []byte{2, 0, 0, 0}
	for _, e := range []struct{ tag, perm byte }{{1, 6}, {4, 4}, {0x10, 4}, {0x20, 0}} {
		acl = append(acl, e.tag, 0, e.perm, 0, 0xff, 0xff, 0xff, 0xff)
	}
	if err := unix.Setxattr(dir, "system.posix_acl_default", acl, 0); errors.Is(err, unix.EOPNOTSUPP) {
		t.Skip("no ACLs here")
	} else {
		must(t, err)
	}
	put(t, filepath.Join(dir, "other"), "")
	want := stat(t, filepath.Join(dir, "other")).Mode
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(object))
	write(t, f, body, ranges(0, 1000)[0])
	path, err := f.Commit(CommitOptions{Size: 1000})
	must(t, err)
	if m := stat(t, path).Mode; m != want {
		t.Errorf("mode %o, and that of another new file is %o", m, want)
	}
}

// TestDirectorySwappedForALink: what is on its way stays in the directory where it was begun, and
// what comes later to it, too.
func TestDirectorySwappedForALink(t *testing.T) {
	for name, swap := range map[string]func(dir string) (from, to string){
		"-P":        func(dir string) (string, string) { return dir, dir + ".was" },
		"of a tree": func(dir string) (string, string) { return filepath.Join(dir, "sub"), filepath.Join(dir, "sub.was") },
	} {
		for _, rerun := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				top := t.TempDir()
				dir, victim := filepath.Join(top, "dir"), filepath.Join(top, "victim")
				must(t, os.MkdirAll(filepath.Join(victim, "sub"), 0o755))
				to := Target{Dir: dir, Sub: "sub", Rerun: rerun}
				if rerun {
					to.Run = newRun(t, dir)
				}
				first, second := open(t, to, "http://h/1"), open(t, to, "http://h/2")
				must(t, first.Begin(object))
				write(t, first, body, ranges(0, 500)[0])
				from, away := swap(dir)
				must(t, os.Rename(from, away))
				must(t, os.Symlink(victim, from))
				must(t, first.Checkpoint(ranges(0, 500)))
				write(t, first, body, ranges(500, 1000)[0])
				must(t, second.Begin(object))
				write(t, second, body, ranges(0, 1000)[0])
				for _, f := range []*File{first, second} {
					_, err := f.Commit(CommitOptions{Size: 1000})
					must(t, err)
				}
				if rerun {
					third, err := Open(to, parse(t, "http://h/3"))
					if err == nil {
						must(t, third.Begin(object))
						write(t, third, body, ranges(0, 1000)[0])
						_, err = third.Commit(CommitOptions{Size: 1000})
						must(t, err)
					}
				}
				wantNames(t, victim, "sub")
				wantNames(t, filepath.Join(victim, "sub"))
				there := away
				if name == "-P" {
					there = filepath.Join(away, "sub")
				}
				if got := names(t, there); len(got) < 2 || got[0] != "1" || got[1] != "2" {
					t.Errorf("there are %q", got)
				}
			})
		}
	}
}

// TestDirectoryThatCannotBeRead: a directory that may be written, and not read, takes files all the same.
func TestDirectoryThatCannotBeRead(t *testing.T) {
	asRoot(t)
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chown(dir, stranger, stranger))
	must(t, os.Chmod(dir, 0o300))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := unix.SetfsuidRetUid(stranger)
	must(t, err)
	defer unix.SetfsuidRetUid(0) //nolint:errcheck // it has the right to
	f := open(t, Target{Dir: dir}, hereURL)
	must(t, f.Begin(object))
	write(t, f, body, ranges(0, 1000)[0])
	must(t, f.Checkpoint(ranges(0, 1000)))
	_, err = f.Commit(CommitOptions{Size: 1000})
	must(t, err)
	_, _ = unix.SetfsuidRetUid(0)
	wantNames(t, dir, "x")
}
