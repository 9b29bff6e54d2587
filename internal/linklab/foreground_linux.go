package linklab

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// starter is what can start a command and wait for it: exec.Cmd and Cmd.
type starter interface {
	Start() error
	Wait() error
}

// runForeground runs a command in a process group of its own, which gets the
// terminal if this process has it (so that a Ctrl-C reaches the command once,
// not once more through this process) and is sent the signals that this
// process gets. s starts cmd.
func runForeground(cmd *exec.Cmd, s starter) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	tty, mine := ownTerminal()
	if mine {
		cmd.SysProcAttr.Foreground = true
		cmd.SysProcAttr.Ctty = tty
		// Taking the terminal back from the background would stop this process.
		signal.Ignore(syscall.SIGTTOU)
		defer signal.Reset(syscall.SIGTTOU)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := s.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	for {
		select {
		case sig := <-signals:
			_ = syscall.Kill(-cmd.Process.Pid, sig.(syscall.Signal)) // it may have ended
		case err := <-ended:
			if mine {
				_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, syscall.Getpgrp()) // it may be gone
			}
			return err
		}
	}
}

// ownTerminal is the descriptor of the terminal whose foreground this process
// is in, if it has one.
func ownTerminal() (fd int, mine bool) {
	for fd = range 3 {
		if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil {
			return fd, group == syscall.Getpgrp()
		}
	}
	return -1, false
}
