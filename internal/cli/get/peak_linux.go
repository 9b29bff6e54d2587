package get

import (
	"bytes"
	"os"
	"strconv"
)

// peakOfImage is the peak resident set in bytes since the program began; 0 if the kernel does
// not report it. getrusage's figure includes the parent's: execve keeps the peak of the address
// space that it replaces, which after a vfork is the parent's.
func peakOfImage() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			fields := bytes.Fields(rest) // "VmHWM:	   12345 kB"
			if len(fields) == 2 && string(fields[1]) == "kB" {
				kB, err := strconv.ParseInt(string(fields[0]), 10, 64)
				if err == nil && kB > 0 && kB < 1<<40 {
					return kB * 1024
				}
			}
		}
	}
	return 0
}

// resident is the resident set now, in bytes; 0 where the kernel does not tell.
func resident() int64 {
	statm, err := os.ReadFile("/proc/self/statm") // pages: size, resident, ...
	if err != nil {
		return 0
	}
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || pages < 0 || pages > 1<<40 {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
