//go:build !unix

package fetch

// waiting: Windows has no flag for a look that does not wait.
func waiting(uintptr) bool { return false }
