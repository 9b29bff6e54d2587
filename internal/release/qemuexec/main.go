//go:build linux

// Command qemuexec runs a program for another processor under qemu-user, and
// with it all programs that it starts: `go test -exec` takes it, so tests that
// start themselves work too. It registers qemu with a binfmt_misc of its own,
// in a user namespace (Linux 6.7), and changes nothing for anybody else.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	inside = "MLGET_QEMUEXEC_INSIDE"
	binfmt = "/proc/sys/fs/binfmt_misc"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: qemuexec PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	if os.Getenv(inside) != "" {
		fmt.Fprintln(os.Stderr, "qemuexec:", become(os.Args[1:]))
		os.Exit(125)
	}
	code, err := start(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "qemuexec:", err)
	}
	os.Exit(code)
}

// start runs this program again in namespaces of its own, as the user that it
// is already, and gives its exit status.
func start(args []string) (code int, err error) {
	c := exec.Command("/proc/self/exe", args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), inside+"=1")
	users := 1
	if os.Getuid() == 0 {
		users = 65536
	}
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: users}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: users}},
		Pdeathsig:   syscall.SIGKILL,

		GidMappingsEnableSetgroups: users > 1,
	}
	// `go test` sends what ends a test; the test gets it as well, and decides.
	signal.Ignore(syscall.SIGQUIT, syscall.SIGINT)
	err = c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 125, err
	}
	return 0, nil
}

// become registers qemu and becomes the program.
func become(args []string) error {
	if err := unix.Mount("binfmt_misc", binfmt, "binfmt_misc", 0, ""); err != nil {
		return fmt.Errorf("mount binfmt_misc (Linux 6.7 and later allow it): %w", err)
	}
	for _, m := range []struct{ qemu, magic, mask string }{
		{"qemu-arm-static", `\x7fELF\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x28\x00`, `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`},
		{"qemu-aarch64-static", `\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00`, `\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff`},
	} {
		path, err := exec.LookPath(m.qemu)
		if err != nil {
			return err
		}
		// F: opened here and now, so that a test may change its root.
		entry := ":" + m.qemu + ":M::" + m.magic + ":" + m.mask + ":" + path + ":F"
		if err := os.WriteFile(binfmt+"/register", []byte(entry), 0); err != nil {
			return err
		}
	}
	if err := os.Unsetenv(inside); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}
