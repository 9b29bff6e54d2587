package get

import (
	"os"
	"runtime/debug"
)

// How much may be thrown away, in percent of what is in use, before it is collected; Go's
// own choice is 100. While payload of one file comes hardly anything is allocated, so that
// collecting costs no time that could be measured, and connections that begin by dozens
// leave less behind. A list allocates for each of its files.
const (
	garbageOfOne  = 25
	garbageOfMany = 50
)

// tidy has garbage collected earlier than usual, unless the environment says when.
func tidy(one bool) {
	if os.Getenv("GOGC") != "" {
		return
	}
	percent := garbageOfMany
	if one {
		percent = garbageOfOne
	}
	debug.SetGCPercent(percent)
}
