package store

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
	"github.com/mlget/mlget/pkg/scheduler"
)

const killURL = "http://h/x"

var killBody = testbody.Body{Size: 32 << 20, Seed: 11} //nolint:gochecknoglobals // constants cannot be structs

// downloadForever is the child: it resumes, writes from both ends with a
// checkpoint now and then, and starts over when it is through.
func downloadForever(dir string) {
	if err := download(dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func download(dir string, begun io.Writer) error {
	u, err := url.Parse(killURL)
	if err != nil {
		return err
	}
	f, err := Open(Target{Dir: dir}, u)
	if err != nil {
		return err
	}
	if err := f.Begin(identity.Identity{Size: killBody.Size, ETag: `"k"`}); err != nil {
		return err
	}
	front, back := int64(0), killBody.Size
	if _, done, ok := f.Resume(); ok {
		if done[0].Off == 0 {
			front = done[0].End
		}
		if last := done[len(done)-1]; last.End == killBody.Size && last.Off > 0 {
			back = last.Off
		}
	}
	if _, err := fmt.Fprintln(begun, "begun"); err != nil { // the parent starts its clock
		return err
	}
	p := make([]byte, 32<<10)
	for n := 1; front < back; n++ {
		at := front
		if n%2 == 0 {
			back -= int64(len(p))
			at = back
		} else {
			front += int64(len(p))
		}
		_, _ = killBody.ReadAt(p, at) // within the body
		if _, err := f.WriteAt(p, at); err != nil {
			return err
		}
		if n%5 != 0 {
			continue
		}
		var done []scheduler.Range
		for _, r := range ranges(0, front, back, killBody.Size) {
			if !r.Empty() {
				done = append(done, r)
			}
		}
		if err := f.Checkpoint(done); err != nil {
			return err
		}
	}
	_, err = f.Commit(CommitOptions{Size: killBody.Size})
	return err
}

func TestKilledAtAnyMoment(t *testing.T) {
	dir := t.TempDir()
	part, done := filepath.Join(dir, "x.part"), int64(0)
	most := 10 * time.Millisecond // that a child has; more, where that is too little for a checkpoint
	for n := range 20 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", childEnv+"=download", "MLGET_STORE_TEST_DIR="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatalf("run %d: the child did not begin: %v", n, err)
		}
		time.Sleep(rand.N(most))
		must(t, cmd.Process.Kill())
		killed := cmd.Wait() != nil
		if !killed {
			break // it came through first
		}
		if _, err := os.Stat(part); err != nil {
			break // killed after the rename
		}
		f := open(t, Target{Dir: dir}, killURL)
		if f.Notice() != "" {
			t.Fatalf("run %d: %s", n, f.Notice())
		}
		_, claimed, _ := f.Resume()
		var sum int64
		for _, r := range claimed {
			sum += r.Len()
			got, want := make([]byte, r.Len()), make([]byte, r.Len())
			_, _ = killBody.ReadAt(want, r.Off)
			if _, err := f.ReadAt(got, r.Off); err != nil {
				t.Fatalf("run %d: %v: %v", n, r, err)
			}
			if string(got) != string(want) {
				t.Fatalf("run %d: %v is claimed and not there", n, r)
			}
		}
		if sum < done {
			t.Fatalf("run %d: %d bytes were done before, now %d", n, done, sum)
		}
		if done = sum; done == 0 {
			most = min(2*most, time.Second)
		}
		must(t, f.Close())
	}
	t.Logf("%d MiB were done when the last child was killed", done>>20)
	if done == 0 {
		t.Fatal("no child got as far as a checkpoint")
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); err != nil {
		must(t, download(dir, io.Discard))
		wantNames(t, dir, "x")
	}
	if content(t, dir, "x") != bodyString(t, killBody) {
		t.Fatal("wrong bytes in the end")
	}
}
