package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store/crashtest"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// wanted is a file that a scene downloads.
type wanted struct {
	to  Target
	url string
	id  identity.Identity
	b   testbody.Body
	old string // what is under its name before, if something is
	// former is what the object was before.
	former *wanted
	// nameless: it has no name before there is something to record.
	nameless bool
	// reserves: the file system has no way to take a name that must be free but to
	// make an empty file of it first.
	reserves bool
}

// scene is a course of downloads whose crashes are looked at.
type scene struct {
	name    string
	prepare func(dir string) error // what is on disk before, durable
	refuse  []call                 // system calls that the file system does not know
	files   func(dir string) []wanted
	run     func(a *actor) error
}

// actor runs a scene, in a process of its own whose system calls are recorded.
type actor struct {
	dir   string
	files []wanted
}

// say tells the test how far things are; see checkLoss.
func say(format string, args ...any) {
	_, _ = os.Lstat(crashtest.MarkPath + fmt.Sprintf(format, args...))
}

const lossSize = 50*4096 + 777

// one is a file that is downloaded under the name that the URL gives it.
func one(dir string) []wanted {
	return []wanted{{
		to: Target{Dir: dir}, url: "http://h/x", id: identity.Identity{Size: lossSize, ETag: `"e"`},
		b: testbody.Body{Size: lossSize, Seed: 31},
	}}
}

// oneTo is one with another target.
func oneTo(to Target) func(dir string) []wanted {
	return func(dir string) []wanted {
		w := one(dir)
		w[0].to = to
		w[0].to.Dir = filepath.Join(dir, to.Dir)
		return w
	}
}

func nameless(files func(dir string) []wanted) func(dir string) []wanted {
	return func(dir string) []wanted {
		all := files(dir)
		for i := range all {
			all[i].nameless = true
		}
		return all
	}
}

func reserving(dir string) []wanted {
	w := one(dir)
	w[0].reserves = true
	return w
}

// several are files of a job of many; the sizes differ.
func several(dir string) []wanted {
	var all []wanted
	for i := range 7 {
		size := int64(1000 + 9000*i)
		all = append(all, wanted{
			to: Target{Dir: dir, Rerun: true}, url: fmt.Sprint("http://h/f", i), id: identity.Identity{Size: size, ETag: `"e"`},
			b: testbody.Body{Size: size, Seed: uint64(40 + i)},
		})
	}
	return all
}

func (w wanted) open() (*File, error) {
	u, err := url.Parse(w.url)
	if err != nil {
		return nil, err
	}
	return Open(w.to, u)
}

func (w wanted) path() string {
	u, _ := url.Parse(w.url) // a constant
	return w.to.Path(u)
}

// put writes the bytes of r, some pages at a time and the last one first.
func (w wanted) put(f *File, r scheduler.Range) error {
	const step = 5*4096 + 100
	for end := r.End; end > r.Off; end = max(r.Off, end-step) {
		from := max(r.Off, end-step)
		p := make([]byte, end-from)
		_, _ = w.b.ReadAt(p, from) // within the body
		if _, err := f.WriteAt(p, from); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint says what is claimed when it is.
func (w wanted) checkpoint(f *File, done ...scheduler.Range) error {
	if err := f.Checkpoint(done); err != nil {
		return err
	}
	say("claimed %s %s", filepath.Base(w.path()), words(done))
	return nil
}

func words(done []scheduler.Range) string {
	var s []string
	for _, r := range done {
		s = append(s, fmt.Sprintf("%d-%d", r.Off, r.End))
	}
	return strings.Join(s, ",")
}

func (w wanted) commit(f *File) error {
	name, err := f.Commit(CommitOptions{Size: w.b.Size})
	if err != nil {
		return err
	}
	say("committed %s", filepath.Base(name))
	return nil
}

// halves downloads a file with a checkpoint in the middle and one at the end.
func (w wanted) halves(f *File) error {
	at := w.b.Size / 2
	return cmp.Or(f.Begin(w.id),
		w.put(f, scheduler.Range{End: at}), w.checkpoint(f, scheduler.Range{End: at}),
		w.put(f, scheduler.Range{Off: at + 100, End: w.b.Size}),
		w.checkpoint(f, scheduler.Range{End: at}, scheduler.Range{Off: at + 100, End: w.b.Size}),
		w.put(f, scheduler.Range{Off: at, End: at + 100}), w.commit(f))
}

// inHalves is the scene of one file.
func inHalves(a *actor) error {
	w := a.files[0]
	f, err := w.open()
	if err != nil {
		return err
	}
	return w.halves(f)
}

// atOnce is that of one that is there before a checkpoint is made.
func atOnce(a *actor) error {
	w := a.files[0]
	f, err := w.open()
	if err != nil {
		return err
	}
	return cmp.Or(f.Begin(w.id), w.put(f, scheduler.Range{End: w.b.Size}), w.commit(f))
}

// suspended leaves the first third of w.
func (w wanted) suspended() error {
	f, err := w.open()
	if err != nil {
		return err
	}
	done := []scheduler.Range{{End: w.b.Size / 3}}
	return cmp.Or(f.Begin(w.id), w.put(f, done[0]), f.Suspend(done))
}

func left(dir string) error { return one(dir)[0].suspended() }

// goOn resumes and finishes w.
func (w wanted) goOn() error {
	f, err := w.open()
	if err != nil {
		return err
	}
	_, done, _ := f.Resume()
	if err := f.Begin(w.id); err != nil {
		return err
	}
	at := int64(0)
	for n, r := range append(done, scheduler.Range{Off: w.b.Size, End: w.b.Size}) {
		if err := w.put(f, scheduler.Range{Off: at, End: r.Off}); err != nil {
			return err
		}
		if at = r.End; n == 0 {
			if err := w.checkpoint(f, scheduler.Range{End: at}); err != nil {
				return err
			}
		}
	}
	return w.commit(f)
}

// theirFirst writes the first n bytes of w under its name, as another tool would,
// and syncs nothing.
func theirFirst(w wanted, n int64) error {
	p := make([]byte, n)
	_, _ = w.b.ReadAt(p, 0)
	return os.WriteFile(w.path(), p, 0o644)
}

// inBatches commits the files of a job, three at a time.
func inBatches(a *actor) error {
	var batch []Pending
	var names []string
	for i, w := range a.files {
		f, err := w.open()
		if err != nil {
			return err
		}
		if err := cmp.Or(f.Begin(w.id), w.put(f, scheduler.Range{End: w.b.Size})); err != nil {
			return err
		}
		if i == 4 { // one of them is worth a journal
			if err := w.checkpoint(f, scheduler.Range{End: w.b.Size}); err != nil {
				return err
			}
		}
		batch = append(batch, Pending{File: f, Options: CommitOptions{Size: w.b.Size}})
		names = append(names, filepath.Base(w.path()))
		if len(batch) < 3 && i < len(a.files)-1 {
			continue
		}
		for _, c := range CommitAll(batch) {
			if c.Err != nil {
				return c.Err
			}
		}
		for _, name := range names {
			say("committed %s", name)
		}
		batch, names = nil, nil
	}
	return nil
}

// scenes are all that are looked at.
func scenes() []scene {
	noReplace := []call{{unix: syscallRenameat2, errno: syscall.EINVAL}}
	return []scene{
		{name: "one file", files: one, run: inHalves},
		{name: "at once", files: one, run: atOnce},
		{name: "a file to replace", files: func(dir string) []wanted {
			w := one(dir)
			w[0].to.Name, w[0].to.Explicit, w[0].old = "x", true, strings.Repeat("old", 2000)
			return w
		}, prepare: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "x"), []byte(strings.Repeat("old", 2000)), 0o600)
		}, run: inHalves},
		{name: "resumed", files: one, prepare: left, run: func(a *actor) error { return a.files[0].goOn() }},
		{name: "suspended, resumed", files: one, run: func(a *actor) error {
			w := a.files[0]
			return cmp.Or(w.suspended(), w.goOn())
		}},
		{name: "another object", files: func(dir string) []wanted {
			w := one(dir)
			w[0].former = &one(dir)[0]
			w[0].id.ETag, w[0].b.Seed = `"new"`, 32
			return w
		}, prepare: left, run: func(a *actor) error {
			w := a.files[0]
			f, err := w.open()
			if err != nil {
				return err
			}
			return cmp.Or(f.Restart(), w.halves(f))
		}},
		{name: "another size", files: func(dir string) []wanted {
			w := one(dir)
			w[0].former = &one(dir)[0]
			w[0].id, w[0].b = identity.Identity{Size: lossSize / 4, ETag: `"new"`}, testbody.Body{Size: lossSize / 4, Seed: 33}
			return w
		}, prepare: left, run: func(a *actor) error {
			w := a.files[0]
			f, err := w.open()
			if err != nil {
				return err
			}
			return cmp.Or(f.Restart(), w.halves(f))
		}},
		{name: "unknown size", files: func(dir string) []wanted {
			w := one(dir)
			w[0].id.Size = -1
			return w
		}, run: inHalves},
		{name: "rejected", files: one, run: func(a *actor) error {
			w := a.files[0]
			f, err := w.open()
			if err != nil {
				return err
			}
			wrong := w
			wrong.b.Seed = 77
			err = cmp.Or(f.Begin(w.id), wrong.put(f, scheduler.Range{End: w.b.Size}), f.Reject())
			return cmp.Or(err, inHalves(a))
		}},
		{name: "nothing kept", files: one, run: func(a *actor) error {
			w := a.files[0]
			f, err := w.open()
			if err != nil {
				return err
			}
			err = cmp.Or(f.Begin(w.id), w.put(f, scheduler.Range{End: w.b.Size / 2}), f.Close())
			return cmp.Or(err, inHalves(a))
		}},
		{name: "another tool's", files: oneTo(Target{Continue: true}), run: func(a *actor) error {
			w := a.files[0]
			return cmp.Or(theirFirst(w, w.b.Size/3), w.goOn())
		}},
		{name: "another tool's, whole", files: oneTo(Target{Continue: true}), run: func(a *actor) error {
			w := a.files[0]
			if err := theirFirst(w, w.b.Size); err != nil {
				return err
			}
			f, err := w.open()
			if err != nil {
				return err
			}
			return cmp.Or(f.Begin(w.id), w.commit(f))
		}},
		{name: "a journal that was left", files: one, prepare: func(dir string) error {
			return cmp.Or(left(dir), os.Remove(filepath.Join(dir, "x.part")))
		}, run: inHalves},
		{name: "new directories", files: oneTo(Target{Dir: "a/b", Sub: "c/d"}), run: inHalves},
		{name: "several", files: nameless(several), run: inBatches},
		{name: "several, named", files: several, run: inBatches, refuse: []call{noTmpfile()}},
		{name: "one by one, named", files: several, refuse: []call{noTmpfile()}, run: func(a *actor) error {
			for _, w := range a.files {
				if err := atOnce(&actor{a.dir, []wanted{w}}); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "of many, large", files: nameless(oneTo(Target{Rerun: true})), run: inHalves},
		{name: "of many, rejected", files: nameless(oneTo(Target{Rerun: true})), run: func(a *actor) error {
			w := a.files[0]
			f, err := w.open()
			if err != nil {
				return err
			}
			return cmp.Or(f.Begin(w.id), w.put(f, scheduler.Range{End: w.b.Size / 2}), f.Reject(), w.goOn())
		}},
		{name: "there already", files: func(dir string) []wanted {
			w := oneTo(Target{Rerun: true, Late: true})(dir)
			w[0].id.LastModified = "" // it is believed by its size
			return w
		}, prepare: func(dir string) error {
			w := one(dir)[0]
			return theirFirst(w, w.b.Size)
		}, run: atOnce},
		{name: "spliced", files: one, run: func(a *actor) error {
			w := a.files[0]
			f, err := w.open()
			if err != nil {
				return err
			}
			at := w.b.Size / 2
			return cmp.Or(f.Begin(w.id), w.splice(f, at, w.b.Size), w.checkpoint(f, scheduler.Range{Off: at, End: w.b.Size}),
				w.splice(f, 0, at), w.commit(f))
		}},
		{name: "by a link", files: one, run: inHalves, refuse: noReplace},
		{
			name: "by a reservation", files: reserving, run: inHalves,
			refuse: append(noReplace, call{unix: syscallLinkat, errno: syscall.EPERM}),
		},
		{
			name: "by a reservation, at once", files: reserving, run: atOnce,
			refuse: append(noReplace, call{unix: syscallLinkat, errno: syscall.EPERM}),
		},
	}
}

// splice moves bytes through a pipe, as those of a socket are.
func (w wanted) splice(f *File, off, end int64) error {
	m, err := NewMover()
	if err != nil {
		return err
	}
	defer m.Close() //nolint:errcheck // it is empty
	r, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // it was read
	sent := make(chan error, 1)
	bytes := io.NewSectionReader(w.b, off, end-off)
	go func() {
		_, err := io.Copy(out, bytes)
		sent <- errors.Join(err, out.Close())
	}()
	raw, err := r.SyscallConn()
	if err != nil {
		return err
	}
	for {
		n, err := m.Take(raw, 40000)
		if n == 0 || err != nil {
			return cmp.Or(err, <-sent)
		}
		if _, err := f.MoveAt(m, n, off); err != nil {
			return err
		}
		off += n
	}
}

// perform is the child: it plays the scene of that name.
func perform(dir, name string) error {
	for _, s := range scenes() {
		if s.name != name {
			continue
		}
		if err := refuse(s.refuse); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
		return s.run(&actor{dir, s.files(dir)})
	}
	return fmt.Errorf("there is no scene %q", name)
}
