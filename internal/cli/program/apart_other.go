//go:build unix && !linux

package program

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that a Ctrl-C at the terminal comes to
// it once, from here.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
