package metrics

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/event/eventtest"
)

// TestWriteFileWithoutModes: FAT and FUSE refuse to change a file's mode, as the kernel
// does to this thread.
func TestWriteFileWithoutModes(t *testing.T) {
	run := after(eventtest.TwoLinks())
	name := filepath.Join(t.TempDir(), "page.prom")
	var refused, err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its filter
		if refused = refuseChmod(); refused == nil {
			err = WriteFile(name, run)
		}
	}()
	<-done
	if refused != nil {
		t.Skipf("no system call can be refused here: %v", refused)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || !bytes.Equal(text, page(t, run, "")) {
		t.Errorf("%q, %v", text, err)
	}
	wantFiles(t, filepath.Dir(name), "page.prom")
}

// refuseChmod has the kernel answer EPERM to the calling thread's fchmodat.
func refuseChmod() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the call's number
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FCHMODAT, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
