package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/store/crashtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// How many crashes are looked at, of each scene under each model, besides one at each
// turn, and which: `make soak` asks for thousands.
var (
	crashes   = flag.Int("crashes", 6, "crashes at random moments, per scene and model") //nolint:gochecknoglobals // flags of the test
	crashSeed = flag.Uint64("crash-seed", 0, "which crashes; 0: others each time")       //nolint:gochecknoglobals // flags of the test
)

func playScene(dir, name string) {
	if err := perform(dir, name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// fastDir is a directory in memory where there is one: there nothing has to be
// waited for, and files can do without names.
func fastDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mlget-powerloss-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestPowerLoss: whatever a loss of power leaves of what was not synced, no journal
// claims a byte that is not there, no name leads to other bytes than the right ones,
// what was checkpointed or committed is there, and the same download, made again,
// ends with the right bytes under the same name.
func TestPowerLoss(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./internal/store -run %s -crashes %d -crash-seed %d", t.Name(), *crashes, seed)
	for i, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var c losses
			log := recorded(t, s, fastDir(t))
			c.lookAt(t, s, log, crashtest.Models(), seed, uint64(i))
			if disk := t.TempDir(); inOrder(disk) { // there less is synced
				c.lookAt(t, s, recorded(t, s, disk), []crashtest.Model{crashtest.Ordered}, seed, uint64(i))
			}
			t.Logf("%d calls, %d states, %d different ones; %d were refused, %d took another name",
				len(log.Ops), c.states, len(c.seen), c.refused, c.renamed)
		})
	}
}

// lookAt makes states of a record.
func (c *losses) lookAt(t *testing.T, s scene, log *crashtest.Log, models []crashtest.Model, seed, stream uint64) {
	t.Helper()
	base := fastDir(t)
	for _, m := range models {
		random := rand.New(rand.NewPCG(seed, stream<<8|uint64(m)))
		for _, at := range log.Turns() {
			c.look(t, s, base, log, at, m, random)
		}
		for range *crashes {
			c.look(t, s, base, log, random.IntN(log.Moments+1), m, random)
		}
	}
}

// recorded plays a scene below dir.
func recorded(t *testing.T, s scene, dir string) *crashtest.Log {
	t.Helper()
	root := filepath.Join(dir, "d")
	must(t, os.Mkdir(root, 0o755))
	if s.prepare != nil {
		must(t, s.prepare(root))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	env := append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"=scene", "MLGET_STORE_TEST_DIR="+root, "MLGET_STORE_TEST_SCENE="+s.name)
	self, err := os.Executable()
	must(t, err)
	log, end, err := crashtest.Record(ctx, crashtest.Program{Root: root, Path: self, Args: []string{self}, Env: env})
	if errors.Is(err, crashtest.ErrUnable) {
		t.Skip(err)
	}
	must(t, err)
	if end.Code != 0 || log.Moments < 10 {
		t.Fatalf("exit %d, %d calls: %s", end.Code, len(log.Ops), end.Output)
	}
	return log
}

// losses counts what became of the states.
type losses struct {
	seen                     map[[32]byte]bool
	states, refused, renamed int
}

// look makes a state, and looks at what becomes of it.
func (c *losses) look(t *testing.T, s scene, base string, log *crashtest.Log, at int, m crashtest.Model, random *rand.Rand) {
	t.Helper()
	state := log.Crash(at, m, random)
	c.states++
	if c.seen == nil {
		c.seen = map[[32]byte]bool{}
	}
	key := state.Sum()
	c.seen[key] = true
	dir := filepath.Join(base, "crashed")
	must(t, os.RemoveAll(dir))
	must(t, os.Mkdir(dir, 0o755))
	must(t, state.Write(dir))
	for _, w := range s.files(dir) {
		w.nameless = w.nameless && !named(log, filepath.Base(w.path()))
		refused, renamed, err := checkLoss(w, log, at, m)
		if err != nil {
			from := max(0, len(log.Ops)-12)
			for i, o := range log.Ops {
				if o.Begun >= at {
					from = max(0, i-12)
					break
				}
			}
			var last strings.Builder
			for _, o := range log.Ops[from:min(from+12, len(log.Ops))] {
				fmt.Fprintln(&last, "  ", o)
			}
			t.Fatalf("power lost at %d of %d (%v): %v: %v\nafter\n%v", at, log.Moments, m, state, err, &last)
		}
		if refused {
			c.refused++
		}
		if renamed {
			c.renamed++
		}
	}
}

// named says whether the file had a name before it was written to: not all file
// systems can do without.
func named(log *crashtest.Log, name string) bool {
	for _, o := range log.Ops {
		switch {
		case o.Kind == crashtest.Enter && o.Name == name+partSuffix:
			return true
		case o.Kind == crashtest.Write:
			return false
		}
	}
	return false
}

// checkLoss checks the remains of a file, and downloads it again. Where the file system
// guarantees nothing, and nothing has been recorded yet, the remains may look like another
// program's files: then the download is refused, or another name is taken, and nothing is
// touched.
func checkLoss(w wanted, log *crashtest.Log, at int, m crashtest.Model) (refused, renamed bool, err error) {
	path, name := w.path(), filepath.Base(w.path())
	whole, err := w.underItsName(path)
	if err != nil {
		return false, false, err
	}
	committed := false
	for _, said := range log.Marks("committed ", at) {
		committed = committed || said == name
	}
	if committed && !whole {
		return false, false, errors.New("it was committed, and is not there")
	}
	if err := w.claimsHold(path); err != nil {
		return false, false, err
	}
	if theirs, err := os.ReadFile(path); err == nil && w.to.Continue && !bytes.HasPrefix(w.bytes(), theirs) {
		return false, false, nil // another tool's bytes were lost before it was told to go on with them
	}
	if whole && !w.to.Explicit && !w.to.Rerun && !w.to.Continue {
		return false, false, w.onlyRelics(path)
	}
	claimed := log.Marks("claimed "+name+" ", at)
	mayBeLost := m == crashtest.Any && len(claimed) == 0 && !w.nameless
	f, err := w.open()
	if err != nil {
		if errors.Is(err, ErrForeign) && mayBeLost {
			return true, false, nil
		}
		return false, false, err
	}
	defer f.Close() //nolint:errcheck // it is, unless there was an error already
	id, done, ok := f.Resume()
	if ok && differ(id, w.id) {
		done = nil
		err = f.Restart()
	}
	if err == nil {
		err = f.Begin(w.id)
	}
	if err != nil {
		return false, false, err
	}
	if !f.Whole() {
		if f.Name() == path && !whole {
			if lost := missing(claimed, done); lost != "" {
				return false, false, fmt.Errorf("%v is there, and %s were recorded", done, lost)
			}
		}
		from := int64(0)
		for _, r := range append(done, scheduler.Range{Off: w.b.Size, End: w.b.Size}) {
			if err := w.put(f, scheduler.Range{Off: from, End: r.Off}); err != nil {
				return false, false, err
			}
			from = r.End
		}
	}
	got, err := f.Commit(CommitOptions{Size: w.b.Size})
	if err != nil {
		return false, false, err
	}
	there, err := os.ReadFile(got)
	if err == nil && !bytes.Equal(there, w.bytes()) {
		err = errors.New("the bytes are wrong in the end")
	}
	switch {
	case err != nil:
		return false, false, err
	case got == path:
		return false, false, w.onlyRelics(path)
	case mayBeLost:
		return false, true, nil
	}
	return false, false, fmt.Errorf("it became %s", filepath.Base(got))
}

func (w wanted) bytes() []byte {
	p := make([]byte, w.b.Size)
	_, _ = w.b.ReadAt(p, 0)
	return p
}

// underItsName says whether the whole file is there. What was there before may be
// there still.
func (w wanted) underItsName(path string) (bool, error) {
	there, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err):
		if w.old != "" {
			return false, errors.New("the old file is gone, and no new one is there")
		}
		return false, nil
	case err != nil:
		return false, err
	case bytes.Equal(there, w.bytes()):
		return true, nil
	case w.old != "" && string(there) == w.old, w.to.Continue, w.reserves && len(there) == 0:
		return false, nil
	}
	return false, fmt.Errorf("%d bytes are under its name, and not the right ones", len(there))
}

// claimsHold compares what the journal claims with what is in the .part.
func (w wanted) claimsHold(path string) error {
	b, err := os.ReadFile(path + journalSuffix)
	if err != nil {
		return nil //nolint:nilerr // nothing is claimed
	}
	j, err := decodeJournal(b)
	if err != nil {
		return nil //nolint:nilerr // nothing that mlget will believe
	}
	if w.former != nil && j.identity() == w.former.id {
		w = *w.former
	}
	part, err := os.ReadFile(path + partSuffix)
	if err != nil || differ(j.identity(), w.id) || int64(len(part)) < endOf(j.Done) {
		return nil //nolint:nilerr // and nor is this
	}
	all := w.bytes()
	for _, r := range j.Done {
		if !bytes.Equal(part[r.Off:r.End], all[r.Off:r.End]) {
			return fmt.Errorf("the journal claims %v of %v, which is not there", r, j.Done)
		}
	}
	return nil
}

// missing gives what was said last to have been recorded, unless it is there.
func missing(said []string, there []scheduler.Range) string {
	if len(said) == 0 {
		return ""
	}
	last := said[len(said)-1]
	for word := range strings.SplitSeq(last, ",") {
		var want scheduler.Range
		if _, err := fmt.Sscanf(word, "%d-%d", &want.Off, &want.End); err != nil {
			return err.Error()
		}
		held := false
		for _, r := range there {
			held = held || r.Off <= want.Off && want.End <= r.End
		}
		if !held {
			return last
		}
	}
	return ""
}

// onlyRelics says what else is left beside the whole file than journals without a
// .part, or a second name of it.
func (w wanted) onlyRelics(path string) error {
	part, err := os.ReadFile(path + partSuffix)
	if err == nil && !bytes.Equal(part, w.bytes()) {
		return fmt.Errorf("%s is left", filepath.Base(path+partSuffix))
	}
	return nil
}
