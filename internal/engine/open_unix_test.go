//go:build unix

package engine

import (
	"os"
	"os/exec"
	"testing"
)

// TestBatchFewDescriptors: the files of a batch leave room for connections where a
// process may have few descriptors.
func TestBatchFewDescriptors(t *testing.T) {
	if !fewDescriptors(t) {
		return
	}
	if n := openMost(); n != 64 {
		t.Errorf("%d files may be open at once", n)
	}
	r := newRig(t)
	r.haul(t.Context(), Batch{Concurrency: 200}, mixed(serve(t, &shop{}), 1000, false)...).right()
}

// TestBatchNoDescriptors: where others have taken what a process may have, files wait
// for one another.
func TestBatchNoDescriptors(t *testing.T) {
	if !fewDescriptors(t) {
		return
	}
	timeless(func(t *bubble) {
		r := newRig(t)
		wares := mixed(serve(t, &shop{}), 60, false)
		var taken []*os.File
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			taken = append(taken, f)
		}
		const left = 5
		for i, f := range taken {
			if i < left {
				_ = f.Close()
			} else {
				defer func() { _ = f.Close() }()
			}
		}
		r.haul(t.Context(), Batch{Concurrency: 4 * left}, wares...).right()
	})(t)
}

// fewDescriptors runs the test in a process of its own, which may have 256
// descriptors; it says whether this is that process. Such a test is not parallel: a
// child that is being started has its parent's descriptors for a moment, files that
// others have just closed among them.
func fewDescriptors(t *testing.T) bool {
	const inner = "MLGET_TEST_FEW_DESCRIPTORS"
	if os.Getenv(inner) != "" {
		return true
	}
	cmd := exec.Command("sh", "-c", `ulimit -n 256 && exec "$0" -test.run "^$1\$"`, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), inner+"=1")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return false
}
