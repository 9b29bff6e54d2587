//go:build !linux

package get

import "time"

// busy is not known here.
func busy() time.Duration { return 0 }
