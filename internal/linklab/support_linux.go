package linklab

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Unsupported says why no lab can be started here, or nil: it needs root (or a
// user namespace in which the process is root) and TUN devices.
func Unsupported() error {
	fd, err := unix.Open(tunPath, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return tunError(err)
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	t, err := newNSThread(false)
	if err != nil {
		return namespaceError(err)
	}
	t.end()
	return nil
}

// Skipper is what a test can do about it: *testing.T and *testing.B.
type Skipper interface {
	Helper()
	Skipf(format string, args ...any)
}

// SkipIfUnsupported skips a test where no lab can be started, with the reason.
func SkipIfUnsupported(t Skipper) {
	t.Helper()
	if err := Unsupported(); err != nil {
		t.Skipf("linklab cannot run here: %v", err)
	}
}

// namespaceError says what to do about a namespace that cannot be had.
func namespaceError(err error) error {
	if !errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.EROFS) {
		return err
	}
	e := &HintError{Err: err, Hint: "run as root"}
	if os.Geteuid() == 0 {
		e.Hint = "a container needs CAP_SYS_ADMIN and CAP_NET_ADMIN and a writable /proc/sys/net (docker run --privileged)"
	}
	return e
}

// userNamespaceError says what to do where no user namespace can be had.
func userNamespaceError(err error) error {
	e := &HintError{Err: fmt.Errorf("new user namespace: %w", err), Hint: "run as root"}
	for _, s := range []struct{ path, forbids, hint string }{
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"},
	} {
		if v, err := os.ReadFile(s.path); err == nil && string(v) == s.forbids+"\n" {
			e.Hint = "run as root, or allow user namespaces: " + s.hint
		}
	}
	return e
}
