//go:build unix

package execpolicy

import (
	"os/exec"
	"syscall"
)

// apart gives the program a group of its own: a Ctrl-C at the terminal comes to mlget
// alone, which ends the program when the download has saved its state.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll kills the program and what it has started.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
