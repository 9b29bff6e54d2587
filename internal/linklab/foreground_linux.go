package linklab

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

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
// process gets. When a Ctrl-Z stops the command, this process stops with it, and
// goes on with it. s starts cmd.
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
	signal.Notify(signals, wanted(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)...)
	defer signal.Stop(signals)
	children, continued := make(chan os.Signal, 1), make(chan os.Signal, 1)
	if mine {
		signal.Notify(children, syscall.SIGCHLD)
		defer signal.Stop(children)
		signal.Notify(continued, syscall.SIGCONT)
		defer signal.Stop(continued)
	}
	if err := s.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	for {
		select {
		case sig := <-signals:
			_ = syscall.Kill(-cmd.Process.Pid, sig.(syscall.Signal)) // it may have ended
		case <-children:
			if hasStopped(cmd.Process.Pid) {
				takeTerminal(tty, cmd.Process.Pid)
				stopJob(continued)
				goOn(tty, cmd.Process.Pid)
			}
		case <-continued: // by a fg after a bg
			goOn(tty, cmd.Process.Pid)
		case err := <-ended:
			if mine {
				takeTerminal(tty, cmd.Process.Pid)
			}
			return err
		}
	}
}

// hasStopped says whether a child has been stopped since it was last asked.
func hasStopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

// stopJob stops this process and what else its shell has started with it, as a
// Ctrl-Z would have done, until the shell continues them. Where there is no shell
// that could, the kernel stops nothing.
func stopJob(continued <-chan os.Signal) {
	const longest = 100 * time.Millisecond // until the stop takes effect
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(longest):
	}
}

// goOn continues a process group, which gets the terminal if this process has it.
func goOn(tty, group int) {
	moveTerminal(tty, syscall.Getpgrp(), group)
	_ = syscall.Kill(-group, syscall.SIGCONT) // it may have ended
}

// takeTerminal takes the terminal back from a process group.
func takeTerminal(tty, group int) { moveTerminal(tty, group, syscall.Getpgrp()) }

// moveTerminal gives the terminal to a process group, if another one has it: after
// a bg, it is the shell's.
func moveTerminal(tty, from, to int) {
	if group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP); err == nil && group == from {
		_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, to) // either may be gone
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
