package cli

import (
	"syscall"
	"time"
)

// usage is this process's user and system time; Windows does not tell the peak
// resident set without a further library.
func usage() (cpu time.Duration, maxRSS int64) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, 0
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		return 0, 0
	}
	// Durations come as counts of 100 ns.
	ticks := func(f syscall.Filetime) time.Duration {
		return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
	}
	return ticks(kernel) + ticks(user), 0
}
