//go:build !windows

package main_test

import "os"

// interrupt does what Ctrl-C does.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// notStarted: a program that cannot be started is a failure.
func notStarted(error) bool { return false }
