//go:build !linux

package cli

// yieldProcessor does nothing where threads have no priorities of their own.
func yieldProcessor() {}
