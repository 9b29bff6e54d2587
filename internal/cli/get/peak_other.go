//go:build unix && !linux

package get

// peakOfImage is 0: here, getrusage is all that there is.
func peakOfImage() int64 { return 0 }
