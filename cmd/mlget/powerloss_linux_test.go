package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/store/crashtest"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

// How many crashes are looked at, of each kind of run under each model: `make soak`
// asks for hundreds.
var (
	crashes   = flag.Int("crashes", 3, "crashes per run and model")                //nolint:gochecknoglobals // flags of the test
	crashSeed = flag.Uint64("crash-seed", 0, "which crashes; 0: others each time") //nolint:gochecknoglobals // flags of the test
)

// fallen is a run of mlget that a loss of power may end.
type fallen struct {
	slow  []string // flags that make it last, of the recorded run alone
	args  []string
	files map[string]testbody.Body // what it is to fetch
	old   string                   // what is there before under the first one's name, if something is
	left  *crashtest.State         // what an earlier crash has left
}

// memoryDir is a directory in memory, where there is one.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mlget-powerloss-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// record runs mlget and records what it asks of the file system.
func (f *fallen) record(t *testing.T) *crashtest.Log {
	t.Helper()
	log, _, end := f.run(t, crashtest.Fault{})
	if end.Code != 0 {
		t.Fatalf("exit %d: %s", end.Code, end.Output)
	}
	return log
}

// run runs mlget in a file system that fails as fault says, and gives what is there
// afterwards.
func (f *fallen) run(t *testing.T, fault crashtest.Fault) (*crashtest.Log, crashtest.State, *crashtest.Ended) {
	t.Helper()
	root := filepath.Join(memoryDir(t), "d")
	check(t, os.Mkdir(root, 0o700))
	if f.left != nil {
		check(t, f.left.Write(root))
	}
	if f.old != "" {
		check(t, os.WriteFile(filepath.Join(root, f.names()[0]), []byte(f.old), 0o600))
	}
	path, err := exec.LookPath("mlget")
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	args := slices.Concat([]string{"mlget", "-q", "--links", loopback(), "--power", "none"}, f.slow, f.args)
	log, end, err := crashtest.Record(ctx, crashtest.Program{Root: root, Path: path, Args: args, Env: os.Environ(), Fault: fault})
	if errors.Is(err, crashtest.ErrUnable) {
		t.Skip(err)
	}
	check(t, err)
	s, err := crashtest.ReadState(root)
	check(t, err)
	return log, s, end
}

func (f *fallen) names() []string {
	var names []string
	for name := range f.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func bytesOf(b testbody.Body) []byte {
	p := make([]byte, b.Size)
	_, _ = b.ReadAt(p, 0)
	return p
}

// inspect finds what may not be in a state, whatever comes after.
func (f *fallen) inspect(s crashtest.State, over bool) error {
	for name, b := range f.files {
		have, there := s.File(name)
		switch {
		case there && bytes.Equal(have, bytesOf(b)):
			continue
		case over:
			return fmt.Errorf("mlget has ended, and %s is not there", name)
		case there && (f.old == "" || string(have) != f.old):
			return fmt.Errorf("%s is there with other bytes", name)
		}
		text, _ := s.File(name + ".part.json")
		part, there := s.File(name + ".part")
		var journal struct {
			Done []scheduler.Range `json:"done"`
		}
		if !there || json.Unmarshal(text, &journal) != nil {
			continue
		}
		for _, r := range journal.Done {
			if r.End > int64(len(part)) || !bytes.Equal(part[r.Off:r.End], bytesOf(b)[r.Off:r.End]) {
				return fmt.Errorf("the journal of %s claims %v, which is not there", name, r)
			}
		}
	}
	return nil
}

// TestPowerLoss: what a loss of power can leave of mlget's files is never claimed or
// named wrongly, and the same command finishes it. It is store's test of this name
// with the whole program: splicing and copying, one file and many, checksums, files
// that are replaced, and a second loss of power.
func TestPowerLoss(t *testing.T) {
	s := newSite(t)
	ca, err := s.writeCA(t.TempDir())
	check(t, err)
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./cmd/mlget -run %s -crashes %d -crash-seed %d", t.Name(), *crashes, seed)

	one, many := fallenRuns(t, s)
	copied := one
	copied.args = []string{"--cacert", ca, s.secure.URL + strings.TrimPrefix(one.args[0], s.clear.URL)}
	replaced := one
	replaced.old = strings.Repeat("old", 1000)
	replaced.args = []string{"-o", "f.bin", "--checksum", "sha256=" + one.files["f.bin"].SHA256(), one.args[0]}
	for i, c := range []struct {
		name  string
		run   fallen
		twice bool
	}{
		{"spliced", one, true},
		{"copied", copied, false},
		{"checked, in place of another", replaced, false},
		{"many", many, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			left := c.run.crash(t, random)
			if c.twice {
				again := c.run
				again.left = &left
				again.crash(t, random)
			}
		})
	}
}

// crash records the run, looks at what there can be after crashes of it, and lets
// mlget go on with it. It returns a state from the middle.
func (f *fallen) crash(t *testing.T, random *rand.Rand) (middle crashtest.State) {
	t.Helper()
	log := f.record(t)
	turns := log.Turns()
	inspected := 0
	for _, m := range crashtest.Models() {
		for range 10 * *crashes { // most are only looked at
			at := turns[random.IntN(len(turns))]
			if err := f.inspect(log.Crash(at, m, random), at == log.Moments); err != nil {
				t.Fatalf("power lost at %d of %d (%v): %v", at, log.Moments, m, err)
			}
			inspected++
		}
		for range *crashes {
			at := turns[random.IntN(len(turns))]
			state := log.Crash(at, m, random)
			if err := f.goOn(t, state, m); err != nil {
				t.Fatalf("power lost at %d of %d (%v): %v: %v", at, log.Moments, m, state, err)
			}
			inspected++
		}
	}
	t.Logf("%d calls, %d states", len(log.Ops), inspected)
	return log.Crash(log.Moments*2/3, crashtest.Ordered, random)
}

// goOn runs mlget where a crash has left this.
func (f *fallen) goOn(t *testing.T, s crashtest.State, m crashtest.Model) error {
	t.Helper()
	dir := filepath.Join(memoryDir(t), "d")
	check(t, os.Mkdir(dir, 0o700))
	defer os.RemoveAll(filepath.Dir(dir)) //nolint:errcheck // it is removed once more at the end
	check(t, s.Write(dir))
	r := mlget(t, dir, append([]string{"-q", "--power", "none"}, f.args...)...)
	if m == crashtest.Any && r.code == 3 && strings.Contains(r.stderr, "not made by mlget") {
		return nil // it cannot be told from somebody else's
	}
	if r.code != 0 {
		return fmt.Errorf("exit %d: %s", r.code, r.stderr)
	}
	for name, b := range f.files {
		have, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) && m == crashtest.Any {
			have, err = os.ReadFile(filepath.Join(dir, name+".1"))
		}
		if err != nil || !bytes.Equal(have, bytesOf(b)) {
			return errors.Join(fmt.Errorf("%s is wrong in the end", name), err)
		}
	}
	return nil
}

// fallenRuns are runs of one file and of many.
func fallenRuns(t *testing.T, s *site) (one, many fallen) {
	t.Helper()
	const size = 1500000
	one = fallen{
		slow: []string{"--limit-rate", "600K"}, args: []string{fmt.Sprint(s.clear.URL, "/ranges/", size, "/f.bin")},
		files: map[string]testbody.Body{"f.bin": body(size, "")},
	}
	many = fallen{slow: []string{"--limit-rate", "6M"}, files: map[string]testbody.Body{}}
	var list strings.Builder
	for i := range 9 {
		name, size := fmt.Sprint("f", i), int64(1000+30000*i)
		if i == 8 { // large enough for a journal
			size = 9 << 20
		}
		many.files[name] = body(size, "")
		fmt.Fprintf(&list, "%s/ranges/%d/%s\n", s.clear.URL, size, name)
	}
	listed := filepath.Join(t.TempDir(), "list")
	check(t, os.WriteFile(listed, []byte(list.String()), 0o600))
	many.args = []string{"-i", listed}
	return one, many
}

// TestDiskFailsAnywhere: whatever call is the first to find the disk full, the quota
// used up, the file system read-only or the device gone, mlget says so, claims nothing
// that is not there, and goes on when all is well again.
func TestDiskFailsAnywhere(t *testing.T) {
	s := newSite(t)
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("go test ./cmd/mlget -run %s -crashes %d -crash-seed %d", t.Name(), *crashes, seed)
	one, many := fallenRuns(t, s)
	for i, c := range []struct {
		name  string
		fault crashtest.Fault
		says  string
	}{
		{"full", crashtest.Fault{Calls: crashtest.Growing, Errno: syscall.ENOSPC}, "no space left on device"},
		{"quota", crashtest.Fault{Calls: crashtest.Growing, Errno: syscall.EDQUOT}, "disk quota exceeded"},
		{"read-only", crashtest.Fault{Calls: crashtest.Changing, Errno: syscall.EROFS}, "read-only file system"},
		{"gone", crashtest.Fault{Calls: crashtest.Syncing, Errno: syscall.EIO}, "input/output error"},
	} {
		for k, f := range map[string]fallen{"one": one, "many": many} {
			t.Run(c.name+", "+k, func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(seed, uint64(i)<<8|uint64(len(f.files))))
				f.slow = []string{"--limit-rate", "2M"}
				for range *crashes {
					fault := c.fault
					// Most are at the beginning, where most kinds of calls are.
					if fault.After = int(20 * random.ExpFloat64()); fault.Calls == crashtest.Syncing {
						fault.After /= 8
					}
					_, state, end := f.run(t, fault)
					if end.Failed == 0 && end.Code != 0 || end.Code != 0 && end.Code != 3 {
						t.Fatalf("%+v: exit %d: %s", fault, end.Code, end.Output)
					}
					if end.Code == 3 && !strings.Contains(end.Output, c.says) {
						t.Errorf("%+v: not said: %s", fault, end.Output)
					}
					if err := f.inspect(state, end.Code == 0); err != nil {
						t.Fatalf("%+v: exit %d: %s: %v", fault, end.Code, end.Output, err)
					}
					if err := f.goOn(t, state, crashtest.Ordered); err != nil {
						t.Fatalf("%+v: %v: %v", fault, state, err)
					}
				}
			})
		}
	}
}
