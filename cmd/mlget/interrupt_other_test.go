//go:build !windows

package main_test

import "os"

// interrupt does what Ctrl-C does.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }
