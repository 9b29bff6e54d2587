package program

import (
	"os/exec"
	"syscall"
)

// apart gives a process a group of its own, so that a Ctrl-C at the terminal comes to
// it once, from here, and ends it where this process is killed.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
