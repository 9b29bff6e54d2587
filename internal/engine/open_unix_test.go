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
	t.Parallel()
	const inner = "MLGET_TEST_FEW_DESCRIPTORS"
	if os.Getenv(inner) == "" {
		cmd := exec.Command("sh", "-c", `ulimit -n 256 && exec "$0" -test.run '^TestBatchFewDescriptors$'`, os.Args[0])
		cmd.Env = append(os.Environ(), inner+"=1")
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return
	}
	if n := openMost(); n != 64 {
		t.Errorf("%d files may be open at once", n)
	}
	r := newRig(t)
	r.haul(t.Context(), Batch{Concurrency: 200}, mixed(serve(t, &shop{}), 1000, false)...).right()
}
