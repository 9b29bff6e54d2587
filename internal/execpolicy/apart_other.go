//go:build !unix

package execpolicy

import "os/exec"

// apart does nothing: this system has no groups of processes.
func apart(*exec.Cmd) {}

// killAll kills the program.
func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
