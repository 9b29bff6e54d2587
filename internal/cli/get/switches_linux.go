package get

import "syscall"

// voluntarySwitches is how often a thread of this process gave its processor up.
func voluntarySwitches() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return int64(u.Nvcsw) //nolint:unconvert // 32 bits on some machines
}
