package power

import (
	"runtime"
	"syscall"
)

// leastPriority is the nice value of a thread that takes what others leave.
const leastPriority = 19

// yieldProcessor gives the goroutine a thread of its own of the least priority, which
// ends with it: links that are to be saturated need the processor, too. Where the
// kernel refuses, it competes with them.
func yieldProcessor() {
	runtime.LockOSThread()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, leastPriority) // of Linux's threads, each has its own
}
