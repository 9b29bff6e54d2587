//go:build unix && !linux

package get

// peakOfImage is 0: this system has only getrusage.
func peakOfImage() int64 { return 0 }
