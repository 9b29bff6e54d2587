//go:build unix

package rewrite

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// TestCreateDevice: a terminal that is this process's standard output is not opened
// for appending, which SELinux forbids apps on Android; a file is.
func TestCreateDevice(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "android" {
		t.Skip("elsewhere /dev/fd opens nothing anew")
	}
	regular, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	device, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	for f, appends := range map[*os.File]bool{regular: true, device: false} {
		created, err := Create(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, created.Fd(), syscall.F_GETFL, 0)
		if errno != 0 || flags&syscall.O_APPEND != 0 != appends {
			t.Errorf("%s: flags %#o, %v", f.Name(), flags, errno)
		}
		_ = created.Close()
		_ = f.Close()
	}
}
