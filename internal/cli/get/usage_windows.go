package get

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// cpuTime is this process's user and system time.
func cpuTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return 0
	}
	// Durations come as counts of 100 ns.
	ticks := func(f windows.Filetime) time.Duration {
		return 100 * time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime))
	}
	return ticks(kernel) + ticks(user)
}

// usage is this process's user and system time, and the most memory that it has had resident.
// What Windows does not tell is 0.
func usage() (cpu time.Duration, maxRSS int64) {
	self := windows.CurrentProcess()
	cpu = cpuTime()
	var counters struct { // PROCESS_MEMORY_COUNTERS of psapi.h
		size       uint32
		pageFaults uint32
		peak       uintptr // working set, bytes
		_          [7]uintptr
	}
	counters.size = uint32(unsafe.Sizeof(counters))
	info := windows.NewLazySystemDLL("kernel32.dll").NewProc("K32GetProcessMemoryInfo")
	if info.Find() != nil {
		return cpu, 0
	}
	if ok, _, _ := info.Call(uintptr(self), uintptr(unsafe.Pointer(&counters)), uintptr(counters.size)); ok == 0 {
		return cpu, 0
	}
	return cpu, int64(counters.peak)
}
