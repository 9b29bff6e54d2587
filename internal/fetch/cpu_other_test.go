//go:build !unix

package fetch

import "testing"

// cpuSeconds is not measured here.
func cpuSeconds(*testing.B) float64 { return 0 }
