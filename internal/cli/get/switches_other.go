//go:build !linux

package get

// voluntarySwitches is 0: not known.
func voluntarySwitches() int64 { return 0 }
