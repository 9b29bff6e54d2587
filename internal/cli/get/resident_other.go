//go:build !linux

package get

// resident is 0: what can be had without a further library is the peak, not what
// is resident now.
func resident() int64 { return 0 }
