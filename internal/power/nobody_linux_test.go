package power

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// asNobody runs f with the rights of a user without files.
func asNobody(t *testing.T, dir string, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f() // without root there are no rights to give up
		return
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the test's own, above its first directory
		t.Fatal(err)
	}
	for up := dir; up != filepath.Dir(up); up = filepath.Dir(up) {
		if info, err := os.Stat(up); err != nil || info.Mode()&1 == 0 {
			t.Skip("nobody may enter ", up)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
			return
		}
		f()
	}()
	<-done
}

// TestUnreadable: a file that only root may read is absent, and the reason is told.
func TestUnreadable(t *testing.T) {
	dir := unpack(t, "laptop")
	const counter = "devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj"
	if err := os.Chmod(filepath.Join(dir, counter), 0); err != nil {
		t.Fatal(err)
	}
	asNobody(t, dir, func() {
		_, err := choose(context.Background(), config(RAPL, dir))
		if !errors.Is(err, errRoot) || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%v", err)
		}
		for _, o := range openers() { // one by one: these rights are this thread's
			f, _ := o.survey(context.Background(), config(Auto, dir))
			switch f.Source {
			case RAPL:
				if f.Readable || f.Hint == "" {
					t.Errorf("%+v", f)
				}
			case Battery:
				if !f.Readable || f.Watts == nil || *f.Watts != 8.231 {
					t.Errorf("%+v", f)
				}
			default:
				if f.Readable || f.Hint != "" {
					t.Errorf("%+v", f)
				}
			}
		}
	})
}
