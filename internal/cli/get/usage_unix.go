//go:build unix

package get

import (
	"runtime"
	"syscall"
	"time"
)

// cpuTime is this process's user and system time.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// usage is this process's user and system time, and its peak resident set in
// bytes.
func usage() (cpu time.Duration, maxRSS int64) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	maxRSS = peakOfImage()
	if maxRSS == 0 {
		maxRSS = int64(u.Maxrss) // kilobytes, but bytes on Apple's systems
		if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
			maxRSS *= 1024
		}
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), maxRSS
}
