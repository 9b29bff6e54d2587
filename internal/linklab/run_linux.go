package linklab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// insideVar marks a copy of this process that runs in a user namespace.
const insideVar = "LINKLAB_INSIDE"

// run makes a lab, runs the command in it and returns the command's status.
// What that has cost in energy is said on standard error. args are the whole
// command line, for a copy of this process where one is needed.
func run(c Config, o energyOptions, command, args []string, s streams) (status int, err error) {
	if elsewhere, status, err := elevate(args, s); elsewhere {
		return status, err
	}
	l, err := Start(c)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	if err := l.TakePriority(); err != nil {
		return 0, err
	}
	cmd := l.Command(context.Background(), command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	meter := l.StartEnergy()
	err = runForeground(cmd.Cmd, cmd)
	meter.End()
	status, err = statusOf(cmd.Cmd, err)
	if err != nil {
		return status, err
	}
	return status, o.tell(meter.Energy(o.tail), s.err)
}

// elevate lets users who are not root start labs:
// elsewhere says that it has run this program once more, with these arguments, as
// the root of a user namespace, and nothing is left to do but to pass on its exit
// status. For root it does nothing.
func elevate(args []string, s streams) (elsewhere bool, status int, err error) {
	if os.Geteuid() == 0 || os.Getenv(insideVar) != "" {
		return false, 0, nil
	}
	status, err = runInUserNamespace(args, s)
	return true, status, err
}

// runInUserNamespace runs this program again as the root of a user namespace.
func runInUserNamespace(args []string, s streams) (int, error) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	cmd.Env = append(os.Environ(), insideVar+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	// The death signal comes with the end of the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := runForeground(cmd, cmd)
	if cmd.Process == nil && err != nil {
		return 0, userNamespaceError(err)
	}
	return statusOf(cmd, err)
}

// statusOf is the exit status that a shell would show for the command.
func statusOf(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			return 128 + int(w.Signal()), nil
		}
		return exit.ExitCode(), nil
	case cmd.Process != nil:
		return 0, err
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return statusNotFound, fmt.Errorf("command: %w", err)
	}
	return statusNotExecutable, fmt.Errorf("command: %w", err)
}
