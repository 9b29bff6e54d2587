package metrics

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestFillWithoutModes: FAT and FUSE refuse to change a file's mode, as the kernel does
// to who is not its owner.
func TestFillWithoutModes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to be somebody else")
	}
	const nobody = 65534
	name := filepath.Join(t.TempDir(), "page")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // what was written is read
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with who it has become
		if err := syscall.Setfsuid(nobody); err != nil {
			done <- err
			return
		}
		if err := f.Chmod(0o600); err == nil {
			t.Error("the mode can be changed")
		}
		done <- fill(f, []byte("text"))
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}
