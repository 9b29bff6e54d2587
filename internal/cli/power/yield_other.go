//go:build !linux

package power

// yieldProcessor does nothing where threads have no priorities of their own.
func yieldProcessor() {}
